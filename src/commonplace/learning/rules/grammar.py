"""
The little English grammar that the cue rules stand on.

It takes a sentence apart into clauses, tells what is only asked, supposed, doubted, reported or true for the moment, and turns
the first person into the third: "I prefer tabs since I use Vim" becomes "The user prefers tabs since they use Vim".
"""

from __future__ import annotations

import re
from typing import Final

_I: Final = re.IGNORECASE

_OPENERS: Final = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yeah|yep|yup|no(?=[,.!:;—–-]|\s+(?:I|we|it|that|the|my|our)\b)|nope|well|so|also|and|but|oh|btw|by the way|fyi|for your information|just so you know"
    r"|(?:just )?to be clear|for (?:some )?(?:context|background|reference|the record|future reference)|(?:some |quick )?(?:context|background|note|recap|intro|introduction|question|update|heads[ -]up)(?=[:,])"
    r"|(?:one|another)(?: more)? thing|as (?:I|we) (?:said|mentioned)(?: before| earlier)?|as (?:mentioned|discussed|you know)|actually|basically"
    r"|(?:many )?thanks(?: a lot| so much)?|thank you(?: so much)?|great|perfect|cool|sure|right|good|nice|awesome|got it|anyway|plus|finally|lastly"
    r"|first(?:ly| of all| off)?|second(?:ly)?|look|listen|sorry|honestly|personally|heads[ -]up|reminder|correction|update|important"
    r"|a bit about me|about me|good (?:morning|afternoon|evening)|sounds good|makes sense|exactly|indeed|hmm+|ah|aha|yay|phew"
    r"|(?:hi|hey|hello|dear)(?:[ \t]+(?!I\b|we\b|my\b|our\b)\w+(?=[,!.]))?)(?:[ \t]*[,!.:;…—–-]+[ \t]*|[ \t]+))+",
    _I,
)
_LEAD: Final = re.compile(
    r"(?P<lead>(?:in|for|at|on|during|before|after|since|with|as|within|by|across|under)\s[^,;:]{2,60}?),?\s++"
    r"(?=(?:we|we've|I|I'm|our|please|always|never)\b)",
    _I,
)
_BETWEEN_CLAUSES: Final = re.compile(
    r"(?<!\s)\s++[—–-]{1,2}\s++|—"
    r"|(?:,|(?<!\s))\s++(?:and|but|so)(?:\s++(?:also|then|that'?s why))?\s++(?=(?:I|I'm|I've|we|we're|we've|please|can|could|would you|let's|let me|what|how|why|should|do you|is there)\b)"
    r"|,\s++(?:and|but|so|because|while|whereas|although|though)\s++"
    r"(?=(?:my|our|the|it|it's|that|that's|this|there|you|he|she|they|all|every|(?:always|never)(?! (?:on|in|at|before|after|during|by|with|from|for)\b)|don't)\b)"
    r"|,\s++(?:but|because|while|whereas|although|though)\s++(?=(?-i:[A-Z]))|,\s++so\s++"
    r"|,\s++(?=(?:I|I'm|I've|we|we're|we've|my|our|please|can you|could you|would you|do you|is that|what|how|let's|right\?|ok\?|got (?:one|any|some)|any)\b)",
    _I,
)

_ASKS: Final = re.compile(
    r"(?:what|why|how|who|whom|which|whose|do|does|did|is|are|am|was|were|can|could|should|would|will|shall|may|wanna|want to|any (?:ideas?|thoughts|tips|suggestions|chance|way|recommendations|news)|any(?:one|body) (?:know|here|got|have|else))\b",
    _I,
)
_TASKS: Final = re.compile(
    r"(?:please\s+)?(?:can|could|would|will) you\b|(?:please\s+)?(?:help|translate|proofread|rewrite|rephrase|paraphrase|summari[sz]e|write|draft|generate|create|fix|explain)\b|let(?:'s| us| me)\b|I(?:'d| would) (?:like|love|prefer|rather|want)"
    r"|I (?:want|need|have) (?:to|you)\b|I(?:'m| am) (?:going|about|trying|looking|planning|hoping|wondering|working on)\b|we (?:need|have|want|should|must) to\b",
    _I,
)
_LASTING: Final = re.compile(
    r"\b(?:from now on|going forward|every time|each time|in future|by default|as a rule)\b", _I
)
_SUPPOSES: Final = re.compile(
    r"(?:if|suppose|supposing|imagine|assume|assuming|let'?s say|what if|unless|hypothetically|in theory|pretend|say you|say we|were I|had I|for example|for instance|e\.g\.)\b"
    r"|\bhypothetical\w*\b",
    _I,
)
_WOULD: Final = re.compile(
    r"\b(?:would|could|might|I'd|we'd|you'd|wish|were to|should have|hope to|going to|gonna|plan(?:ning)? to|want to try|supposed to)\b",
    _I,
)
_DOUBTS: Final = re.compile(
    r"\b(?:maybe|perhaps|probably|possibly|likely|I (?:think|guess|suppose|believe|assume|suspect|doubt|wonder|imagine|feel like)|we (?:think|guess|suspect|assume)"
    r"|not (?:really )?sure|unsure|uncertain|no idea|don't know|dunno|can't remember|don't remember|not certain|seems?|seemed|appears? to|looks like"
    r"|apparently|supposedly|presumably|allegedly|iirc|afaik|(?:if|as far as) I (?:recall|remember|know|can tell)|or something|may be|may have"
    r"|(?:thinking|thought) (?:about|of)|considering|wondering|undecided|haven't decided|not decided|just kidding|joking|jk|lol|sarcas\w+|kinda|in my dreams)\b",
    _I,
)
_REPORTS: Final = re.compile(
    r"(?i:\b(?:he|she|they|someone|somebody|people|everyone|boss|manager|clients?|customers?|colleague|coworker|friend|article|blog|book|post|video|docs?|mom|mum"
    r"|dad|wife|husband|sister|brother|vendor|consultant|guy|recruiter|lead|teacher|it|which|who|users?|neighbou?r|character|narrator))"
    r"(?i:\s(?:just |also |always |keeps? |once |often )?(?:said|says|saying|told|tells|claims?|claimed|wrote|writes|thinks?|thought|believes?|suggest(?:s|ed)|mention(?:s|ed)"
    r"|insist(?:s|ed)|argu(?:es|ed)|recommend(?:s|ed)))\b"
    r"|\b[A-Z][a-z]+ (?:said|says|told|claims|claimed|wrote|thinks|believes|suggested|mentioned|insists|keeps saying)\b"
    r"|(?i:\baccording to\b|\brumou?r|\bI (?:read|heard|saw)\b|\b(?:they|people|some) say\b|\bquot(?:e|ing)\b|\bas .{2,30} put it\b)"
)
_MOMENT: Final = re.compile(
    r"\b(?:right now|at the moment|for now|just now|for the time being|at this point|temporar(?:y|ily)|as we speak|this (?:minute|second|instant|time around|once)"
    r"|so far|yet|in a (?:minute|moment|sec\w*)|soon|later|in progress|until (?:tomorrow|monday|tuesday|wednesday|thursday|friday|next|then)|this time|just this once"
    r"|for (?:this|the) (?:task|one|question|time|session|change|ticket|pr)|(?:here|above|below)$)\b",
    _I,
)
_DAY: Final = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|this (?:morning|afternoon|evening|week|weekend|month|sprint)|(?:last|next) (?:night|week|weekend|month|monday|tuesday"
    r"|wednesday|thursday|friday|saturday|sunday)|earlier|an hour ago|(?:a few |\d+ )?(?:minutes?|hours?|days?|weeks?) ago|in (?:a|an|two|three|a few|a couple of|\d+) (?:days?|weeks?|months?|hours?))\b(?!['’])",
    _I,
)
_STATE: Final = re.compile(
    r"(?:\b|(?<=['’]))(?:m|is|are|am|was|were|'s|’s|'re|looks?|feels?|gets?|keeps?)\s+(?:(?:still|now|again|currently|really|so|very|too|pretty|completely|all|not|also|quite|just|always|super"
    r"|a bit|a little|kind of|mostly|already|totally|almost|nearly)\s+)*"
    r"(?:broken|down|failing|failed|slow|up(?! to)|back|stuck|sick|ill|tired|busy|late|angry|upset|ready|done|finished|wrong|missing|gone|full|empty|red|green|flaky|fixed"
    r"|fine|ok|okay|good|bad|great|nice|weird|odd|strange|unclear|here|there|away|out|home|on fire|offline|online|unavailable|timing|better|worse|over|hard|easy|difficult"
    r"|huge|confusing|annoying|interesting|important|possible|impossible|clear|ugly|terrible|awful|amazing|awesome|like|dead|asleep|high|low|about to|due|merged|closed|open"
    r"|messy|happy|sad|nervous|excited|worried|confused|lost|wrong|right|correct|true|false|complete|incomplete|outdated|stale|a mess|behind|ahead|in use|in review|in a meeting|at risk|on hold|exhausted|hungry|(?!(?:wedding|building|evening|morning|thing|ring|king|spring|housing|clothing|parking|ceiling|pricing|nursing)\b)[a-z]+ing(?![\w.@/-]))\b",
    _I,
)
_SPECIFIC: Final = re.compile(
    r"\d|(?<=\s)(?!I\b|I['’])[A-Z]|\w[._/]\w|\w-v?\d|`"
    r"|(?i:\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|hundred|only|always|never|every|each|must(?:n['’]t)?|no longer|no more than"
    r"|allowed|forbidden|banned|mandatory|required|by default|instead of|at least|at most|until|before|after|without|unless|weekdays?|weekends?|annually|daily"
    r"|weekly|monthly|nightly|(?:mon|tues|wednes|thurs|fri|satur|sun)days|rather than|not|cannot|can['’]t)\b)"
)

_SHIELDED: Final = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|[^\s@/]*+[@/]\S*+")
_PRONOUN: Final = re.compile(
    r"\b(?:(?P<i_am>I(?:['’]m| am))|(?P<i_was>I was)|(?P<i_have>I['’]ve)|(?P<i_will>I['’]ll)|(?P<we_are>we['’]re)|(?P<we_have>we['’]ve)|(?P<you_are>you(?:['’]re| are))"
    r"|(?P<word>I(?![./\w'’-])|me|my|mine|myself|we|our|ours|ourselves|(?-i:us|Us)|your|yours|yourself|you))\b(?![-'’]\w)",
    _I,
)
_YOU_DO: Final = re.compile(r"\b(when|whenever|if|before|after|once|until|time) you ([a-z]+)\b", _I)
_PHRASES: Final = {
    "i_am": "they are",
    "i_was": "they were",
    "i_have": "they have",
    "i_will": "they will",
    "we_are": "they are",
    "we_have": "they have",
    "you_are": "the assistant is",
}
_WORDS: Final = {
    "i": "they",
    "me": "them",
    "my": "their",
    "mine": "theirs",
    "myself": "themselves",
    "we": "they",
    "us": "them",
    "our": "their",
    "ours": "theirs",
    "ourselves": "themselves",
    "you": "the assistant",
    "your": "the assistant's",
    "yours": "the assistant's",
    "yourself": "the assistant",
}
_IRREGULAR: Final = {"have": "has", "do": "does", "go": "goes", "be": "is", "am": "is", "can": "can", "must": "must"}
_FIRST_PERSON: Final = re.compile(
    r"(?:(?P<my>my)|(?P<our>our))\s+"
    r"|(?:(?P<we>we)|I)(?:\s+|(?=['’]))(?P<adv>(?:(?:always|never|usually|only|also|often|really|still|just|generally|already)\s+)*)"
    r"(?P<verb>(?:do not|don['’]t|['’](?:m|re|ve|ll)|[a-z]+n['’]t|[a-z]+))(?![\w'’])",
    _I,
)
_AGREED: Final = {
    "'m": "is", "’m": "is", "am": "is", "'re": "is", "’re": "is", "are": "is", "were": "was", "'ve": "has", "’ve": "has", "have": "has",
    "'ll": "will", "’ll": "will", "do not": "does not", "don't": "does not", "don’t": "does not", "haven't": "has not", "aren't": "is not",
}  # fmt: skip
_SAME: Final = frozenset(
    "was can could will would must should may might had did got went made took said cannot can't didn't won't".split()
)
_QUOTES: Final = "\"'“”‘’«「『"


def opened(sentence: str) -> str:
    """Without "Hi,", "By the way," and the like before the statement."""
    match = _OPENERS.match(sentence)
    return sentence[match.end() :] if match else sentence


def clauses(sentence: str) -> list[str]:
    """The clauses with a subject or an order of their own; a list of objects is not cut."""
    return [part for part in (opened(piece.strip(" ,")) for piece in _BETWEEN_CLAUSES.split(sentence)) if part]


def led(clause: str) -> tuple[str, str]:
    """ "In this repo, we use tabs" as "we use tabs" and "in this repo"."""
    match = _LEAD.match(clause)
    if not match:
        return clause, ""
    lead = match["lead"]
    return clause[match.end() :], lead[0].lower() + lead[1:]


def is_question(clause: str) -> bool:
    return "?" in clause[-3:] or "？" in clause[-3:] or bool(_ASKS.match(clause))


def is_task(clause: str) -> bool:
    """A wish for now: "can you", "I need to"."""
    return bool(_TASKS.match(clause)) and not _LASTING.search(clause)


def is_supposed(sentence: str) -> bool:
    return bool(_SUPPOSES.match(sentence))


def is_conditional(clause: str) -> bool:
    return bool(_WOULD.search(clause))


def is_doubted(sentence: str) -> bool:
    return bool(_DOUBTS.search(sentence))


def is_reported(sentence: str) -> bool:
    """Somebody else's words: in quotation marks, or with the name of who said them."""
    return sentence[:1] in _QUOTES or bool(_REPORTS.search(sentence))


def is_momentary(clause: str) -> bool:
    return bool(_MOMENT.search(clause))


def names_a_day(clause: str) -> bool:
    return bool(_DAY.search(clause))


def day_named(clause: str) -> str:
    match = _DAY.search(clause)
    return match[0] if match else ""


def undated(clause: str) -> str:
    """Without "yesterday" and the like, which mean nothing a week later."""
    return re.sub(r"(?<!\s)\s++([,.;])(?=\s|$)", r"\1", " ".join(_DAY.sub("", clause).split())).strip(" ,")


def is_state(clause: str) -> bool:
    """How something is just then: broken, busy, being rebuilt."""
    return bool(_STATE.search(clause))


def is_specific(clause: str) -> bool:
    """Whether it names something: a number, a name, how often, a must."""
    return bool(_SPECIFIC.search(clause))


def spoken(text: str, who: str) -> str:
    """A clause that begins with "I", "we", "my" or "our", said of `who`; any other with its pronouns alone changed."""
    head = _FIRST_PERSON.match(text)
    if not head:
        return shifted(text)
    subject = "The team" if head["we"] or head["our"] else who
    rest = text[head.end() :]
    if head["my"] or head["our"]:
        return f"{subject}'s {shifted(rest)}"
    verb = head["verb"].lower()
    agreed = _AGREED.get(verb) or (verb if verb in _SAME or verb.endswith("ed") else third(verb))
    return f"{subject} {head['adv'].lower()}{agreed}{shifted(rest)}"


def third(verb: str) -> str:
    """The third person singular of a verb, the words after it left as they are: "rely on" becomes "relies on"."""
    first, _, others = verb.lower().partition(" ")
    inflection = _IRREGULAR.get(first) or _with_s(first)
    return f"{inflection} {others}" if others else inflection


def _with_s(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def shifted(text: str) -> str:
    """First and second person as third, except in code, addresses and quotations."""
    text = _YOU_DO.sub(lambda match: f"{match[1]} it {third(match[2])}", text)
    parts: list[str] = []
    place = 0
    for shielded in _SHIELDED.finditer(text):
        parts += [_PRONOUN.sub(_as_third, text[place : shielded.start()]), shielded[0]]
        place = shielded.end()
    return "".join([*parts, _PRONOUN.sub(_as_third, text[place:])])


def _as_third(match: re.Match[str]) -> str:
    kind = match.lastgroup or "word"
    return _PHRASES.get(kind) or _WORDS.get(match[0].lower(), match[0])


def capital(text: str) -> str:
    """With a capital at its beginning, unless it begins with a name such as `make` or iOS."""
    head = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if head.isalpha() and head.islower() else text
