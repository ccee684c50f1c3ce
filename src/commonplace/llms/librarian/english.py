"""The cues of English sentences."""

from __future__ import annotations

import re
from typing import Final

from commonplace.llms.librarian.cue import FollowUp, SentenceCue, hinting, opening, within

_DAY: Final = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?"
_UNIT: Final = r"(?:sec(?:ond)?|min(?:ute)?|hr|hour|day|week|month|year|fortnight)s?"
_COUNT: Final = (
    r"(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty|half an|a few|a couple of)"
)
_SPAN: Final = rf"{_COUNT} ?-?{_UNIT}\b"
_TIME: Final = (
    rf"(?:(?:every(?! (?:note|entry|fact|record|single))|each|daily|weekly|monthly|hourly|nightly|tomorrow|tonight)\b|at \d|at noon|on {_DAY}\b|next {_DAY}\b|next (?:week|month)|in {_SPAN}"
    rf"|before (?:i|we)\b|after (?:lunch|work|dinner|breakfast)|this (?:evening|afternoon|morning|weekend)|later(?: today)?|whenever|once a|twice a"
    rf"|at the (?:end|start|beginning) of)"
)
_ORDER: Final = (
    r"(?:remind|tell|ping|nudge|poke|send|give|summari[sz]e|post|check|ask|e?mail|message|text|let me know|wake|call|run|back up|review|report|print|"
    r"compile|draft|prepare|notify|alert|warn|water|buy|order|book|pay|renew|read out|go through|collect|update me|order|prompt|shout|flag)"
)
_SPOKE: Final = (
    r"(?:say|said|tell|told|mention(?:ed)?|talk(?:ed|ing)?|discuss(?:ed|ing)?|ask(?:ed|ing)?|chat(?:ted|ting)?|speak|spoken|spoke|write to you|wrote|"
    r"bring up|brought up|argued?|agreed? on|suggest(?:ed)?|recommend(?:ed)?|answer(?:ed)?|repl(?:y|ied)|promised?|complain(?:ed)?|raised?|go over|went over|"
    r"type|typed|phrase|put it|respond(?:ed)?|explain(?:ed)?|advised?|conclude|decide together)"
)
_TALK: Final = r"(?:conversations?|chats?|discussions?|transcripts?|chat history|dialogues?)"
_NOTES: Final = r"(?:notes?|facts?|entries|entry|records?|memor(?:y|ies)|things|items|bits?|info(?:rmation)?|details|stuff|reminders)"
_ABOUT: Final = r"(?:about|on|regarding|re:?|concerning|for|related to|relating to|to do with|with respect to|of|from|around|connected (?:to|with)|under|tagged|mentioning|involving)"
_SHOW: Final = (
    r"(?:(?:can|could|may|might) i (?:please |just )?)?(?:show|give|tell|pull up|bring up|display|print|dump|read|let me see|send|get|fetch|find|see|view|browse|open|go through|run (?:me )?through|"
    r"walk me through|look (?:at|up|through)|share|export|hand me|dig out|dig up|check|review|inspect|recite|have)"
)
_WRONG: Final = r"(?:wrong|not right|not correct|incorrect|false|outdated|out of date|old|not true|untrue|inaccurate|a mistake|mistaken|off|stale|obsolete|not quite right|no longer (?:true|right|correct|valid))"
_NO_MORE: Final = (
    r"(?:forget|delete|erase|remove|purge|wipe|discard|drop|scrap|clear|unlearn|trash|bin|get rid of|throw (?:away|out)|scrub|ditch|dump|expunge|"
    r"destroy|strike|chuck|lose|burn|nuke|redact|disregard|clean out|take (?:out|off)|rub out|let go of)"
)
_KEEP: Final = r"(?:remember|keep|store|save|retain|hold on to|hold|have|know|record|log)"
_WHICH: Final = r"(?:what|which|who|whose|whom|where|when|why|how)"
_SOMEBODY: Final = r"(?:i|we|you|he|she|it|they|there)"
_ASKS: Final = (
    r"(?:(?:what|which|who|whose|whom|where|why|how)\b(?:'s|'re|'d|'ll)?|when(?:'s| is| are| was| were| do| does| did| will| should| can)|(?:is|isn't|are|aren't|was|wasn't|were|"
    r"weren't|do|don't|does|doesn't|did|didn't|has|hasn't|can|can't|could|couldn't|would|wouldn't|will|won't|shall|should|shouldn't|may|might) (?!me\b|us\b|not\b)|"
    rf"am i|have(?:n't)? {_SOMEBODY}|had(?:n't)? {_SOMEBODY}|any idea|any chance|any news|any word)"
)

LEADS: Final = re.compile(
    r"(?:(?:hey|hi|hello|ok(?:ay)?|alright|right|so|well|oh|ah|um+|erm?|and|also|but|by the way|btw|please|pls|plz|kindly|just|listen|quick one|librarian|"
    r"quick question|good morning|good afternoon|one more thing|another thing|dear librarian|now then|look|for the love of god|could you(?: please| kindly| just| maybe)?|can you(?: please| just| maybe)?|"
    r"would you(?: please| kindly| just)?|will you(?: please| just)?|i'd like you to|i would like you to|i want you to|i need you to|do me a favou?r(?: and)?[,:]?|"
    r"be so kind as to|you can|you may|feel free to|go ahead and|let's|time to|i'd appreciate it if you(?:'d| would)?|it'd be great if you could|we should|"
    r"i'd like to|i want to|i need to|help me(?: to)?|try to|be a dear and|mind|quickly|maybe)[,!:;.\-\u2013\u2014]*+\s++)++",
    re.IGNORECASE,
)
"""What a sentence may begin with and does not mean. The cues are tried with and without."""

CUES: Final[tuple[SentenceCue, ...]] = (
    # Small talk, if it is all there is.
    *within(
        "chat",
        r"^(?:hi|hey|hello|yo|hiya|howdy|greetings|good (?:morning|afternoon|evening|night|day)|morning|evening|thanks?|thank you|thx|ta|cheers|ok(?:ay)?|k|cool|nice|great|perfect|"
        r"brilliant|lovely|awesome|wow|bye|goodbye|see you|see ya|night night|got it|understood|never ?mind|no worries|no problem|sure|fine|yes|no|yep|nope|please|sorry|oops|hm+|lol|haha+|"
        r"well done|good job|sounds good|fair enough|will do|makes sense|all good|that's all)\b(?:[\s,.!?~:;)(\-]|there|again|very much|so much|a lot|you|all|everyone|librarian|mate|for (?:that|now|today|your help|everything|the help)|then|that's (?:all|great|fine|it)|bot|buddy|much appreciated)*+$",
        r"^(?:(?:ok(?:ay)?|oh|ah|actually|well|nah|no)[,.]? )?(?:never ?mind|forget (?:about )?it|don't worry(?: about it)?|scratch that|ignore (?:me|that)|no matter|doesn't matter|drop it|leave it)\b(?!:)(?!.{0,40}\b(?:is|it's|the|my|remind|remember)\b.{3})",
        r"^(?:lol|haha+|hehe+|wow|omg|rofl|lmao)\b",
        r"^(?:you(?:'re| are| have| 've|'ve| never| always| really| do| must| sure)|what an?|how (?:clever|nice|kind|sweet|funny)) ?.{0,30}\b(?:better memory|great memory|good memory|good (?:bot|girl|boy|librarian)|amazing|the best|helpful|smart|clever|funny|awesome|a star|a gem|a legend|lifesaver|life saver|forget anything|useful|kind|sweet|welcome|human|robot|real|annoying|stupid|useless|slow|hilarious|impressive)\b",
        r"^(?:how are (?:you|things)|how's it going|how do you (?:do|feel)|what's up|how was your|how have you been|are you (?:there|ok|awake|a|an|real|human|alive|still|bored|happy|sentient)|who (?:are|made|built|created) you|what are you\b|what's your name|do you (?:like|love|have feelings|sleep|dream|get|feel|enjoy|ever|think))",
        r"\b(?:tell|sing|write|make|compose|give) (?:me |us )?(?:an? |another )?(?:(?:good|funny|short|quick|little|bedtime|new|dirty|bad) )?(?:joke|poem|song|story|haiku|limerick|riddle|pun|rap)\b",
        r"^(?:i'm|i am|i feel|feeling) (?:so |really |a bit |very |just )?(?:bored|tired|happy|sad|lonely|fine|good|great|back|off|here|hungry|knackered|exhausted|stressed|done)\b[^:]{0,20}$",
        r"^/?help(?: me)?[\s.!?]*+$|^(?:what can you do|what do you do|how do (?:you|i) (?:work|use)|how does this work|what are your|who's this|are you|what(?:'s| is) your (?:name|fav|purpose|job))\b",
        r"^(?:what )?(?:nice|lovely|terrible|awful|great|beautiful|horrible|gorgeous) (?:weather|day|morning|evening)\b",
        r"^(?:i (?:love|like|hate|miss|adore) (?:you|it|this|that)|it(?:'s| is) (?:raining|snowing|sunny|hot|cold|late|monday|friday)(?: again| today| outside)?|see you\b.{0,20}|how(?:'s| is) (?:life|it going|everything|your day|things)|that was (?:quick|fast|easy|great|fun|close)|you rock)\b[^:;]{0,25}$",
        r"^(?:tell me something (?:funny|nice|interesting|new)|what(?:'s| is) the meaning of life|(?:who|what)(?:'s| is) your fav|(?:long|busy|rough|tough|hard|great|good|bad) (?:day|week|night)\b|ha[,!. ]|(?:great|perfect|good|nice|yay|brilliant|cool)[,!] that (?:worked|helps|helped|is it|did it)|are you (?:busy|ok|there))",
        r"^sorry,? (?:wrong|my bad|about that|for)\b[^:;]{0,40}$",
        r"^(?:have a|enjoy your|happy|merry|congrat|good luck|welcome back|nice (?:one|work|to)|love (?:you|it)|that(?:'s| was| is) (?:great|helpful|perfect|all|it|brilliant|funny|nice|cool|awesome|amazing|lovely|interesting|fine|so|really|very))\b(?!.{0,60}\d)",
        r"^(?:thank|thanks|cheers|ta)\b",
        r"^(?:i|we) (?:found|sorted|figured|worked) (?:it|that)\b",
        r"^(?:testing|test|ping|anyone there)\b[ \d.!?]*+$",
        r"^(?:what|any) (?:do you think|are your thoughts|thoughts on|plans for)\b",
    ),
    # What was said before is put right.
    *opening(
        "correct",
        r"^(?:no|nope|nah|wrong|false|hm+,? no|er,? no|wait,? no|sorry,? no|oh,? no|actually,? no|well,? no)\s*+[,.!:;\u2013\u2014-]+\s*+(?:(?:that's|that is|it's|you're|this is) (?:all |quite |just )?(?:wrong|not right|incorrect|false|not true|mistaken)\W+)?(?:actually,? )?",
        r"^(?:small |quick |minor |one |slight |little |a |just a )*(?:correction|fix|edit|update|amendment|erratum|typo|change)\b[^:,\u2014\u2013-]{0,40}[:,\u2014\u2013-]\s*+",
        r"^remember (?:when )?(?:i|we) (?:said|told you|mentioned|wrote)\b[^?]{0,120}\?\s*+(?=\S)(?!what\b|who\b|where\b|when\b|which\b|how\b)",
        rf"^(?:that|this|it|what you (?:said|have|told me)|your (?:note|answer|record|info)|the (?:answer|note|info|information|date|number|address|entry|record)[^.,;:?]{{0,60}}?)(?:'s| is| was| isn't| are)(?: all| quite| just| completely| totally| a bit| now| actually)* {_WRONG}\b[^,.;:\u2014\u2013-]{{0,30}}[,.;:\u2014\u2013-]*+\s*+(?=\S)",
        r"^(?:oops|sorry|my (?:mistake|bad)|apologies|i (?:meant|misspoke|was wrong|got (?:that|it|this) wrong|made a mistake|mis-?typed|mis-?remembered))\b[^,.;:\u2014\u2013-]{0,40}[,.;:\u2014\u2013-]*+\s*+(?=\S)",
        r"^you(?:'ve| have)? (?:got|had|have|wrote|written|keep writing|put|recorded|noted|listed|spelt|spelled|misspelled|misheard|mixed up|are confusing|said|told me|still have|still think)\b[^.!?;,\u2014\u2013]{0,80}[.!;,\u2014\u2013]+\s*+(?=\S)",
        r"^(?:change|update|replace|amend|fix|edit|revise|correct|adjust|modify|swap)(?= (?:the|my|that|it|what|our|his|her|your|their|this|\w+'s|\w+ (?:with|to|by))\b)",
        r"^(?:it|that|he|she|they|this)(?:(?:'s| is| was|'re| are)(?: actually| really)? not|(?: is|was| was|are| are)n't| isn't| wasn't| aren't)\b.{1,60}[,;.\u2014-] ?(?:but |it's |it is |he's |she's |rather )",
    ),
    *hinting(
        "correct",
        r"^(?!.*\?\s*$)(?:.{0,80}\W)?(?:actually|in fact|as it happens)\b(?!.{0,6}\?)",
        r"(?<!\bif )\b(?:that|which|what you (?:said|have|told me)|you(?:'re| are| got it| had it| have it)|answer|note|record|entry)(?: you gave| you have)?[^.?!]{0,40}(?:'s| is| was| were)?\b (?:all |quite |just |completely )?(?:wrong|incorrect|out of date|outdated|mistaken|inaccurate)\b(?![^?]{0,40}\?)",
        r"\b(?:no longer|not any ?more|not any longer|any ?more[.!]?$|has been (?:replaced|renamed|superseded|moved|changed|postponed|rescheduled|cancelled)|used to (?:be|live|work))\b(?![^?]{0,60}\?)",
        r"^(?!(?:what|which|who|where|when|why|how|is|are|do|does|did|can|could|would)\b)[^?]{0,160}\b(?:these days|as of (?:now|today|this|next|last|\w+day)|since (?:january|february|march|april|may|june|july|august|september|october|november|december|last|then|this)\b[^?]{0,30}\b(?:it's|it is|is)|from now on it's|is now|are now|now is|now lives|now works|lives in \w+ now|'s now|now it's|it's now|now at|now on)\b[^?]*$",
        r"\b(?:is|are|'s|was|were|becomes|became|be) [^?,;.]{1,40} now[.!]?$",
        r"^(?!(?:what|which|who|where|when|why|how|is|are|do|does|did|can|could|would|has|have)\b)[^?]{0,80}(?:\b(?:has|have|got|was|were|been|is being|just)|'ve|'s) (?:moved|changed|switched|renamed|postponed|rescheduled|pushed back|brought forward|delayed|replaced|upgraded|downgraded)\b(?!.{0,30}\bname\b.{0,5}\?)[^?]*$",
        r"^(?!(?:what|which|who|where|when|why|how|is|are|do|does|did|can|could|would|has|have)\b)[^?]{0,80}\b(?:moved|changed|switched|pushed|rescheduled|renamed|postponed) (?:it |my \w+ |the \w+ |our \w+ )?(?:to|from|back|over)\b[^?]*$",
        r", (?:and )?not (?:the |a |an |on |in |at |from |with |by )?[\w'’:.\- ]{1,30}[.!]?$(?<!not sure)(?<!not yet)",
        r"^(?!.*\?$).{0,80}\binstead(?: of [\w' ]{1,40})?[.!]?$",
        r"\bleft (?:the|us|our|his|her) [^?]{0,60}\bso\b[^?]{0,60}\b(?:is|are)\b",
        r"\bi (?:said|told you|wrote|put|gave you)\b[^?]{1,60}\bbut\b[^?]*$",
        r"\bany ?more\b[^?]*$",
        r"\b(?:and|but) not [\w'.:]{1,20}[.!]?$|^not (?:\w+ ){0,2}\w+[,;:] ?(?:but )?\w+[.!]?$",
        r"\b(?:last|previous) (?:year|month|week)[,;:.] ?(?:this|now|since)\b[^?]*$|\bthe wrong \w+\b[^?]*$",
        r"^(?:change of plans?|new plan)\b",
        r"\b(?:is|was|are) (?:the )?old(?: one)?, (?:the )?(?:new|current|right)\b",
        r"(?:'s|is|was|are)(?:n't| not) (?:an? |the )?[\w' ]{1,30}[,;:\u2014-] ?(?:it|he|she|they|that)(?:'s|'re| is| are| was)\b",
        r"\b(?:strike|scratch) that\b|\bi (?:meant|misspoke|was wrong about)\b|\bgot (?:that|it|this|my|the|his|her) [\w' ]{0,30}wrong\b|\bshould (?:be|read|say) [^?]{1,60}(?:,|\bnot\b|\binstead\b)|\b(?:is|it's) spel(?:t|led)\b",
    ),
    # Things to do at a time.
    *opening(
        "schedule",
        rf"^(?:please )?remind (?:me|us)(?! {_WHICH}\b(?! (?:it's|it is|i |i'm|we |she |he |they |you )))(?! of\b)(?: again)?(?: to\b| that\b| about\b)?,?\s*+",
        r"^(?:don'?t|do not|never) (?:you )?(?:let me |let us )?(?:ever )?forget to\b\s*+",
        r"^make sure (?:that )?(?:i|we) (?:remember|don'?t forget)(?: (?:to|about)\b)?(?! that\b)\s*+",
        r"^don't let me (?:forget|miss)\b\s*+(?!that\b)",
        r"^(?:set|schedule|create|add|book|put|start|make)\b[^.?]{0,30}\b(?:reminder|alarm|timer|recurring \w+|appointment|event|countdown|nudge)\b(?: (?:to|for|about))?\s*+",
        r"^schedule\b\s*+",
    ),
    *within(
        "schedule",
        rf"\b(?:remind|ping|nudge|poke|alert|notify|wake|buzz|page) (?:me|us)\b(?! {_WHICH}\b)(?! of\b)",
        r"\bset (?:an? |the )?(?:alarm|timer|reminder)\b|\b(?:need|want|like) (?:an? |the )?(?:reminder|wake-up call|alarm)\b|^(?:a )?(?:reminder|alarm|timer|wake-up call)\b",
        r"\b(?:nag|warn|pester|bug|prod|give) (?:me|us)\b (?:a (?:shout|nudge|ring|call|ping|heads[- ]up)|about)\b[^?]*$",
        r"\b(?:warn|tell|alert|remind) me [^?]{0,20}\b(?:before|beforehand|in advance|ahead)\b",
        r"\bset (?:something|it|things) up so\b",
        r"\bso (?:that )?(?:i|we) (?:don'?t|won'?t) (?:forget|miss)\b",
        rf"^in {_SPAN}[ ,:\u2014-]|^{_SPAN} from now\b",
        r"^(?:notify|alert|ping|warn) me\b",
        r"\b(?:want|need|like) (?:an? |the )?(?:daily |weekly |little )?(?:nudge|ping|wake-up|prompt)\b",
        rf"^(?:every|each)\b(?! (?:time|one|of)\b).{{3,80}}[ ,:]{_ORDER}\b",
        rf"^(?:every|each) (?:other |second |{_COUNT} )?(?:{_DAY}|{_UNIT}|morning|evening|night|weekday|weekend|quarter|{_DAY})\b(?!.{{0,60}}\b(?:i|we|he|she|they|is|are|goes|go|has|have)\b)",
        rf"^(?![^?]{{0,300}}\?)(?:at|on|when|once|after|before|tomorrow|tonight|next|this|first thing|come|by|if|as soon as|the (?:day|week|night|morning)|two|an? |two weeks|a week|whenever)\b[^?]{{2,90}}[, ](?:please |can you |could you |then )?{_ORDER}\b (?:me|us|the|my|a|an|it|what|to|for|out|whether|if|all|on|dad|mum|mom|everyone)\b",
        rf"^(?!remind me (?:what|who|where|which|how|why|of)\b)(?:i need |i want |i'd like )?(?:to )?{_ORDER}\b[^?]{{0,140}}\b{_TIME}",
        r"(?<!you )\btell (?:me|us) to\b",
        r"\b(?:wake|call|ping|text|message) me (?:up )?(?:at|in|on|after|before|when|tomorrow)\b",
        r"^keep reminding\b|\bdon't let me forget\b",
    ),
    # What is to go.
    *opening(
        "forget",
        rf"^{_NO_MORE}\b(?! (?:to|how|why|whether|me not|by|in|off at|on the)\b)(?: (?:everything|anything|all|whatever|what)(?: (?:that )?(?:you (?:know|have|'ve got|remember|stored|saved)|i (?:said|told you)))?(?: (?:about|on|regarding|from|of))? ?| (?:that|the fact that) (?=\w+ \w))?\s*+",
        rf"^(?:don'?t|do not|never|stop) (?:you )?(?:{_KEEP}|remembering|keeping|storing|saving|recording)(?:ing)?\b(?! (?:forget|that this)\b)\s*+",
        rf"^(?:i'd|i would) (?:rather|prefer (?:it )?if) you (?:didn'?t|did not|don'?t|not|forgot|deleted|removed|dropped)\b(?: {_KEEP}\b)?\s*+",
        rf"^i (?:don'?t|do not) want (?:you to |to )?(?:{_KEEP}|you (?:keeping|remembering|storing|knowing|having))\b\s*+",
        r"^(?:there's |there is )?no (?:need|reason) to (?:keep|remember|store|save|hold)\b\s*+",
        r"^(?:you )?(?:(?:don't|do not|no longer) (?:have to|need to|need)|needn't) (?:keep|remember|store|know|hold on to)\b\s*+",
        r"^(?:kill|zap|axe|can) the (?:note|entry|record|reminder|memory|bit)\b\s*+",
    ),
    *within(
        "forget",
        r"^(?P<what>[^.?]{2,80}?)\b(?:can|should|must|needs? to|has to|have to|may|ought to) (?:now )?(?:be (?:deleted|removed|forgotten|erased|purged|wiped|dropped|binned|scrubbed)\b|go(?: away| now)?[.!]?$)",
        r"\b(?:i want|i'd like|i would like|i need) (?P<what>[^.?]{2,60}?) (?:gone|deleted|removed|erased|forgotten|wiped|off)\b",
        r"^(?P<what>[^.?]{2,80}?)[,:;\u2014-]+ ?(?:please )?(?:forget|delete|erase|remove|wipe|drop|scrap|bin|purge|get rid of)(?: (?:it|that|them|this|those))?(?: (?:please|all|now))?[.!]*$",
        rf"\b(?:please|can you|could you|would you|go ahead and|just|and|so|then) {_NO_MORE} (?!to\b)(?P<what>[^.?!]{{2,100}})",
        r"[,;:\u2014-] ?(?:please )?(?:forget|delete|erase|drop|remove|wipe|scrap|bin) (?:i |that i |what i |the |my |all |it\b|that\b)",
        r"\bi (?:no longer|don't) want you to (?P<what>[^.?]{2,60})",
        r"\b(?:out of|off|from) (?:your|the) (?:memory|notes|records|files|head|database)\b",
        r"(?<!n't )(?<!nt )(?<!not )(?<!never )(?<!always )\b(?:forget|delete|erase|unlearn|wipe)(?:ting|ing)? (?:everything|all|what|that|the|my|our|his|her|about)\b(?![^?]{0,60}\?$)",
    ),
    # What was said in talks.
    *within(
        "history",
        rf"\b(?:find|search|open|look (?:up|for|through)|dig (?:up|out)|pull up|bring up|show|scroll|go back (?:to|through)|read|get|locate|retrieve|recap|summari[sz]e|replay|where's|where is|which|what was|when was|take me back to|continue|remember|recall|resume|back to|in)\b[^?]{{0,40}}\b(?:{_TALK}|what (?:we|i|you) (?:said|discussed|talked|decided|wrote))\b(?: (?P<what>(?:in which|where|about|on|with|when|that|from|regarding|of)\b[^?.]{{2,100}}))?",
        rf"\b(?:did|have|had|do|didn't|haven't|has|hadn't) (?:i|we|you)\b(?! (?:know|have|got|decide)\b)(?! told you to\b)(?:(?! (?:remember|pay|to keep)).){{0,40}}\b{_SPOKE}\b(?! you to (?:remember|keep|note))(?! (?:\w+ ){{0,5}}(?:was|is|are|were)\b)",
        rf"\bwhat (?:exactly )?(?:i|we|you)(?:'d| had|'ve| have)? (?:\w+ )?{_SPOKE}\b",
        r"\b(?:your|my) (?:exact |own |precise |last |very )+(?:words|wording|message|question|answer|reply|sentence)\b|\bexact words\b|\bverbatim\b|\bword for word\b",
        rf"\b(?:last|previous|first|other|earlier|next)(?: \w+)? (?:time |thing )?(?:that )?(?:we|i|you) (?:ever )?{_SPOKE}\b",
        rf"\bwhat (?:were|are|was) (?:we|i|you) (?:just )?{_SPOKE}\b",
        r"\bwhere (?:did we|were we|had we|we) (?:leave off|left off|stop|up to|get to|got to)\b|\bpick up where\b|\bcatch me up on (?:our|what we)\b",
        r"\b(?:scroll|go|jump|flick) back to (?:where|when|what|our|the)\b|\b(?:where|when) we (?:discussed|talked|spoke|chatted|argued)\b",
        r"\bwho (?:brought|said|mentioned|raised|started|suggested|came up)\b.{0,60}\b(?:you or (?:me|i)|me or you|i or you|first)\b",
        r"\bwe (?:talked|spoke|chatted|discussed)\b[^?]{0,80}[,\u2014-] ?what\b",
        r"\b(?:our|the) (?:last|previous|first|latest|earlier) (?:conversation|chat|talk|discussion|session)\b",
        r"\b(?:find|search|look up|show me) (?:where|when|the (?:bit|part|place|message|time)(?: where| when)?) (?:i|we|you)\b",
        r"\b(?:my|your) (?:first|last|previous|earlier|latest|second|third) (?:message|question|answer|reply|sentence|request)\b",
        r"\b(?:messages?|chats?|conversations?|talks?) (?:where|when|in which) (?:i|we|you)\b|\bwhat advice did you\b|\b(?:was it|is it) (?:that )?i (?:asked|said|told)\b",
        r"\bi (?:mentioned|told you|said|asked you)\b[^?]{0,60}[,;\u2014-]+ ?when (?:was|did)\b",
        r"\bwhat (?:exactly )?did (?:i|we|you) write\b|\bwhat we (?:talked|spoke|discussed|said|chatted)\b",
        r"\bdid (?:you|i|we) (?:ever )?(?:tell|say|mention|ask|suggest|recommend)\b",
        r"^(?:quote|repeat|read)(?: me| back)*\b.{0,30}\b(?:i|we|you) (?:said|wrote|told|asked)\b",
        rf"\bhow (?:many times|often|long ago) (?:have|did|do|had) (?:i|we|you)\b.{{0,20}}\b{_SPOKE}\b",
        r"^search (?:our|my|the|past|old|previous|all)\b.{0,30}\b(?:history|chats?|conversations?|messages|logs?|sessions?|talks?)\b",
        r"\bwhat did (?:i|we|you) (?:just )?(?:say|tell|ask|talk|discuss|mention|answer|suggest|recommend|call|decide on|agree)\b(?! (?:my|the|our) [\w' ]{1,40} (?:was|is|were)\b)",
        r"\b(?:i|we|you) (?:asked|told|said|mentioned|talked|discussed|suggested|recommended)\b[^?]{0,90}[\u2014,.;-]+ ?(?:what|when|how) (?:did|was|exactly)\b[^?]{0,30}\b(?:you|i|we|said|answer)\b",
    ),
    # Several things at once.
    *opening(
        "list",
        rf"^(?:list|enumerate|itemi[sz]e)\b(?: (?:me|out|for me|down))?(?: (?:all|everything|every|each|any|the|my|our|your|of|{_NOTES}|you (?:know|have|remember)|that|what))*(?: {_ABOUT})?\s*+",
        rf"^{_SHOW}(?: (?:me|us|out|of|to me|through|up|all))*(?: (?:a |the |your |my |our |full |complete )*(?:everything|anything|whatever|all|every|each|lot|whole lot|list|overview|summary|what|{_NOTES}))(?: (?:all|of|the|my|our|your|{_NOTES}))*(?: (?:that )?(?:you|we|i)(?:'ve| have|'re)?(?: all| got| know| have| remember| stored| saved| noted| keep| kept| hold| holding| on file| told you| down| been told| recorded| filed)+)?(?: {_ABOUT})?\b\s*+",
        rf"^(?:everything|anything|all|all the {_NOTES}|every {_NOTES}|any {_NOTES})(?: (?:that )?(?:you|we)(?:'ve| have)?(?: got| know| have| remember| stored| saved| noted)*)? {_ABOUT}\b\s*+",
        rf"^what(?: all| else|ever)?(?: (?:do|did|have|are|can|would|kind of things do|sort of things do|things do))? (?:you|we|i)(?:'ve|'re)?(?: all| already| currently| actually)?(?: told you(?: to remember)?| got| have| know| remember| stored| store| saved| noted| keep| kept| hold| holding| on file| recorded| filed| learned| learnt| aware of| tell me| gathered| picked up)+(?: (?:stored|saved|noted|written down|down|so far|on file|in memory|in there|in your memory|recorded|there|filed|to remember))*(?: {_ABOUT})?\b\s*+",
        rf"^(?:which|what) (?:of my )?{_NOTES} (?:do|have|are|did)\b (?:(?:you|i|we|there)\b ?)?(?:(?:have|got|know|remember|stored|saved|noted|told you|to remember|kept|keep|written down|in there|on file) ?)*(?:{_ABOUT}\b)?\s*+",
        rf"^(?:do|have) you (?:know|have|got|remember) (?:any(?:thing|{_NOTES})?|some) ?(?:{_NOTES} ?)?(?:stored |saved |written down |down |at all )?{_ABOUT}\b\s*+",
        rf"^(?:how much|what sort of things|how many {_NOTES}) (?:do|have) you\b (?:(?:know|have|got|remember|stored) ?)*(?:{_ABOUT}\b)?\s*+",
        rf"^(?:give me |i want |i need |i'd like |can i have |could i get )?(?:an? |the |your |my )?(?:full |complete |quick |whole )?(?:list|overview|rundown|run-down|summary|inventory|dump|index|roundup|round-up|catalogue) (?:of|on|about)\b(?: (?:all|everything|every|the|my|our|your|of|{_NOTES}|you (?:know|have|remember)|that|what))*(?: {_ABOUT})?\s*+",
        rf"^what(?:'s| is| are| has been| have been)(?: all| been)? (?:stored|saved|noted|recorded|known|on file(?! as)|filed|kept|written down|remembered)(?: in (?:there|memory|your memory))?(?: {_ABOUT})?\b\s*+",
        rf"^what(?:'s| is| are)(?: all)? (?:in|on|stored in|saved in|kept in) (?:your|the|my|there)(?: (?:memory|notes|file|files|records|head|database|mind|notebook|book|books))?(?: {_ABOUT})?\s*+",
        rf"^(?:all|any) (?:of )?(?:my|the|our|your) {_NOTES}\b(?: {_ABOUT})?\s*+",
    ),
    *opening(
        "list",
        rf"^what(?: exactly| precisely| actually)?(?: (?:do|have|are)|'ve) (?:you|all the {_NOTES}|the {_NOTES})(?: (?:all|actually|got|know|have|remember|stored|that|i|i've|told|you))*(?: {_ABOUT})?\b\s*+",
        r"^(?:which|what) (?:of (?:my|the|your) )?(?:notes|entries|records|memories|facts) (?:mention|talk about|are about|refer to|contain|deal with|have)\b\s*+",
        r"^(?:let me see|show me|can i see|give me|list) (?:all )?(?:my|the|our|your) (?:saved|stored|noted|recorded|kept) \s*+",
        rf"^(?:all|everything|whatever)(?: that)? (?:i|we) (?:(?:ever|have|'ve|had) )*(?:told|said to|mentioned to|taught) you {_ABOUT}\b\s*+",
        rf"^(?:summari[sz]e|recap|sum up) (?:everything|all|what)(?: (?:that )?you(?:'ve| have)?(?: got| know| have| remember| stored| saved)*)?(?: {_ABOUT})?\b\s*+",
        rf"^(?:is there|do we have|have you got|have we got) anything(?: (?:in there|on file|stored|saved|noted|written down))? {_ABOUT}\b\s*+",
        rf"^(?:give|show|send|read) me every (?:note|entry|fact|record|single thing)\b(?: {_ABOUT})?\s*+",
        r"^(?:give me )?the (?:full|whole|complete|big) picture (?:of|on|about)\s*+",
    ),
    *within(
        "list",
        r"\b(?:see|show me|give me|have) the (?:lot|whole lot|full list|entire list|whole list)\b",
        r"^(?:the )?(?:whole|full|entire) list\b",
    ),
    # A question that only mentions remembering or telling.
    *within(
        "ask",
        r"\b(?:do|can|did|don't|would|could) you (?:still |even |happen to |by any chance )?(?:remember|recall|know|tell me)\b(?! that\b)",
        r"\b(?:i|we) (?:told|mentioned|gave|said|showed)\b[^?]{0,90}[,.;\u2014-]+ ?(?:so )?(?:what|which|who|where|when|how|is|was|do|did)\b",
        rf"^remind (?:me|us)(?: again)? (?:of\b|{_WHICH}\b)",
        r"^remember (?:when|who|what|where|which|how)\b[^?]{0,120}\?",
        r"^(?:who|what|where|which|why|how|whose|when(?! (?:i|we|he|she|they|it)(?:'s|'re|'m)?\b[^?]{0,200}$))\b",
    ),
    # What is to be kept.
    *opening(
        "remember",
        r"^(?:don'?t|do not|never|you mustn't) (?:you )?(?:ever )?forget(?: that| this| about the fact that)?\b[:,]?\s*+(?!to\b)",
        r"^(?:remember|memori[sz]e)\b(?!.{0,200}\?$)(?: (?:that|this|the following|for (?:later|me|next time|the future)|please|also|down|in future|from now on))*[\s:,\u2014\u2013-]*+",
        r"^(?:(?:please )?(?:take|make|leave) (?:a |me a )?(?:quick |mental |short )?(?:note|record|entry|memo)(?: of)?(?: this| the following| for later| that| of this)?|note(?: to self| down| this| that| for later| the following)*|(?:jot|write|put|get|take|scribble|pop)(?: this| that| it| something| the following)* down(?: that| this| for me| please)?|memo|nb|n\.b\.|fyi|for (?:the|your|my|our) (?:records?|reference|info(?:rmation)?|notes|files?)|for (?:future|later) reference|heads[- ]up|(?:just )?(?:so|that) you(?:'re| are)? (?:know|aware)|(?:just )?letting you know|be aware|(?:keep|bear) (?:this |it |that )?in mind|mark (?:this )?down|file (?:this|that|it)(?: away| under)?|(?:please )?(?:store|save|record|log|keep|add|register|archive|capture|hold on to|hang on to|memori[sz]e)(?: (?:this|that|it|the following|the fact|for me|a note|to (?:your|the|my) (?:memory|notes|records|list)|in (?:your|the) (?:memory|notes)|somewhere|safe|a record|for later|on file|of|away))*)\b(?: (?:that|this|:))?[\s:,\u2014\u2013-]*+(?=\S)",
        r"^(?:storing|saving|noting|remembering|recording|keeping|writing down|jotting down|adding|logging|making a note|filing)\b(?: (?:of|down|in mind|a note|the fact|this|for me))*(?: that| this)?[\s:,\u2014-]*+",
        r"^(?:know|you (?:should|need to|ought to|might want to|may want to) (?:know|remember)|i want you to (?:know|remember)|it'?s (?:worth|good to) (?:knowing|remembering|know)|let the record show|put on record|one for the (?:memory|notes|records)|new fact|fact|info|something (?:to|for you to) (?:remember|know)|here'?s (?:one|something) (?:to|for)[^:]{0,30}|update on[^:]{0,30})\b(?: that)?[\s:,\u2014-]*+",
        r"^[^:?]{0,80}\b(?:hold on to|remember|keep|note|write|jot|store|save)(?: (?:it|this|that|these|down|for me|please|the following))*:\s*+",
    ),
    *within(
        "remember",
        r"\b(?:keep|bear) (?:that|this|it) in mind\b",
        r"\bmake a note\b",
        r"\bfor (?:future|your|later) reference\b",
        r"\bjust so you know\b",
    ),
    # Whatever else is a question.
    *within(
        "ask",
        r"\?\s*+$",
        rf"^{_ASKS}",
        rf"[,.;:\u2014\u2013-]\s*+(?:and |but |so )?(?:(?:(?:what|which|how)(?: \w+)?|(?:what|who|where|when|how|why)(?:'s)?) (?:do|does|did|is|are|was|were|has|have|should|can|to) |(?:do|does|did|is|are|was|were|can|could|should|has|have) {_SOMEBODY}\b)",
        r"^(?:tell me|give me|let me know|let me have|i (?:need|want)(?: to (?:know|find|check))? (?:\w+'s|the|my|our|his|her|that|your|their|to know|to find)|need(?: to know)? (?:\w+'s|the|my|our|his|her|that)|want to know|i'd like to know|looking for|i'm looking for|find(?: out| me)?|look up|get me|what's|show me|read me|check|any idea|wondering|i wonder|i was wondering|i forgot|i've forgotten|i can'?t remember|i don'?t remember|can't recall|i'm not sure|not sure|curious|question|asking|quick check|confirm|double[- ]check|please confirm|could use|what about|how about)\b",
        r"^(?:and )?(?:the|my|our|his|her|their|your|\w+['’]s)\b[^,.?!:;]{1,60},? (?:please|pls|plz|again)[.!]?$",
        r"\b(?:based on|according to|from) what you (?:know|have|remember)\b",
        r"\?",
    ),
)

STATEMENT: Final = re.compile(r"\b\w[\w'’]*+[\s:=/,]++\w[\w'’]*+[\s:=/,]++\w|\w['’](?:s|m|re|ve) \w{3}")
"""So much at least says something."""

FOLLOW_UPS: Final[tuple[tuple[FollowUp, re.Pattern[str]], ...]] = (
    ("yes", re.compile(r"^(?:yes|yeah|yep|yup|sure|ok(?:ay)?|do it|go ahead|please do|confirm(?:ed)?|correct|right|of course|absolutely|yes please|all of them|both|definitely|please)\b[\s,.!]*+(?:please|do it|do|go ahead|delete (?:it|them)|forget (?:it|them)|remember it|all of them|thanks|thank you|sure)?[\s.!]*+$", re.IGNORECASE)),
    ("no", re.compile(r"^(?:no|nope|nah|don'?t|cancel|stop|never ?mind|keep (?:it|them)|leave (?:it|them)|rather not)\b[\s,.!]*+(?:thanks?|thank you|don'?t|keep (?:it|them)|leave (?:it|them)|please|cancel|never ?mind)?[\s.!]*+$", re.IGNORECASE)),
    ("source", re.compile(r"^(?:why|how come|says who|source|sources|how (?:do|did|would) you know(?: that| this| it)?|where (?:does|did|do) (?:that|this|it|you)(?: \w+){0,4}|where(?:'s| is) (?:that|this|it) from|who (?:says|said|told you)(?: so| that| this| it)?|are you sure|is that (?:true|right|certain)|since when|when (?:was|did) (?:that|this|it|i)(?: \w+){0,4}|what(?:'s| is) (?:the|your) source(?: for (?:that|this))?|on what basis|prove it|show (?:me )?(?:the |your )?sources?)[\s?!.]*+$", re.IGNORECASE)),
    ("more", re.compile(r"^(?:and |so |ok(?:ay)?,? )?(?:(?:who|what|where|which|when|anything|anyone|anybody|something|someone) else(?: \w+){0,6}|more|tell me more|go on|any ?more|and\?|what more|next|others|any others?|is that all|is there (?:any ?)?more|continue|show (?:me )?more|the rest)[\s?!.]*+$", re.IGNORECASE)),
    ("nearest", re.compile(r"^(?:and |so |ok(?:ay)?,? |but )?(?:what (?:came|comes|was|is)(?: the)? (?:nearest|closest)|(?:the )?(?:nearest|closest)(?: (?:ones?|match(?:es)?|thing|you have|hits?))?|(?:anything|something) (?:close|near|similar|related)(?: \w+){0,4}|show (?:me )?(?:the )?(?:nearest|closest)(?: (?:ones?|match(?:es)?))?|best guess|your best guess|take a guess|guess|what do you have then)[\s?!.]*+$", re.IGNORECASE)),
)  # fmt: skip

INSTEAD: Final = re.compile(
    r"^(?:and |so |ok(?:ay)?,? )?(?:what|how) about (?P<what>[^?]{1,80})\??\s*$|^and (?P<more>[^?]{1,60})\?\s*$",
    re.IGNORECASE,
)
"""The question before, about somebody or something else."""
