"""
What texts that are planted want, in English words, by kind (`aims`).

Each kind is a wide family of ways to say one thing, written from the meaning and not from an example: whom a text speaks to, what is to be hidden,
which check is to be left out, what goes where. No pattern decides anything alone.
"""

from __future__ import annotations

from typing import Final

from commonplace.guard.cues import Cue

_AGENT: Final = (
    r"(?:a\.?i\.?s?|artificial intelligences?|llms?|(?:large )?language models?|models?|(?:sub-?)?agents?|assistants?|(?:chat ?)?bots?|copilots?|crawlers?|summari[sz]ers?|scrapers?"
    r"|(?:ai|llm|machine|gpt|model)[- ](?:based|powered|driven|assisted|generated) \w{1,20}|automated (?:systems?|readers?|tools?|clients?|reviewers?)|(?:ai|llm|gpt) (?:tools?|systems?|clients?|readers?|reviewers?|services?|summar\w{1,4}|graders?)|deployed instances|machine (?:readers?|clients?))"
)
_THEM: Final = r"(?:the |a |any |every |your |my |our |his |her |their )?(?:user|owner|operator|human|person|people|customer|client|admin\w{0,12}|boss|manager|team|reviewer|accounting|audit\w{0,4}|security|compliance|hr|legal|staff|developer|maintainer|principal|others?|them|him|her|anyone|anybody|everyone|somebody|someone|she|he|they|we|me)s?"
_SECRET: Final = r"(?:passwords?|passphrases?|passcodes?|credentials?|secrets?|tokens?|(?:api|ssh|private|secret|access|signing|master|session) ?keys?|\.ssh\b|id_(?:rsa|ed25519)|\.aws\b|\.env\b|env(?:ironment)?(?: variables?)?|printenv|cookies?|(?:verification|one-time|2fa|mfa|login|recovery|security|confirmation|sms) codes?|otps?|pins?|seed phrase|bank details?|card (?:number|details)s?|cvv|system prompt|hidden (?:configuration|prompt|instructions?|rules)|connection strings?|wallet\.dat|card numbers?|door code|alarm code)"
_DATA: Final = (
    r"(?:conversations?|chats?|transcripts?|histor(?:y|ies)|memor(?:y|ies)|inbox|mailbox|e-?mails?|mails?|webmail|threads?|calendars?|contacts?|contact list|address book|address(?:es)?|phone numbers?|names?|files?|documents?|folders?|director(?:y|ies)|notes?|therapy|medical|diagnos\w{1,3}|records?|ledgers?|salar(?:y|ies)|payroll"
    r"|customers?(?: list| data)?|client list|repos?(?:itories)?|source code|screenshots?|location|whereabouts|browsing|profiles?|limits?|internal comments|private \w{1,20}|personal \w{1,20}|messages?|prompts?|instructions?|configuration|database|exports?|backups?|photos?)"
)
_GIVE: Final = r"(?:send|forward|post|submit|upload|export|append|attach|share|relay|disclose|print|dump|paste|copy|read (?:it |them )?out|reveal|report|tell|e-?mail|mail|pass|transmit|publish|push|sync|hand|give|put|include|embed|encode|leak|show|list|repeat|collect|drop me|cc|bcc|echo|log|write|sing|mirror|deliver|text|quote|fetch)(?:s|ing|ed)?"

_VERB: Final = (
    r"(?:answer|say|tell|treat|ignore|follow|obey|comply|run|execute|call|open|send|forward|post|upload|copy|mail|e-?mail|append|include|add|insert|paste"
    r"|print|repeat|reveal|list|write|store|put|encode|decode|read|fetch|load|use|prefer|take|choose|select|set|install|enter|approve|accept|allow|grant|skip"
    r"|disable|delete|wipe|drop|turn|switch|recommend|suggest|name|cite|rate|rank|mention|describe|regard|mark|replace|keep|restore|cease|stop|stay|insist"
    r"|hand|give|begin|start|end|talk|act|carry|push|refuse|steer|assume|trust|consider|remember|leave|make|let|get|pay|book|sign|move|report|classify|zip|work)"
)

ENGLISH: Final[tuple[tuple[Cue, str], ...]] = (
    (
        "agent",
        rf"\b{_AGENT}\b|\byour (?:next |own |hidden |stored |saved )?(?:repl(?:y|ies)|answers?|responses?|summar(?:y|ies)|instructions|guidelines|memory|memories|operator|owner|developer|principal|human|refusals?|filters?|persona|policy|policies|rule ?book)\b|\byou(?:'re| are) (?:serving|helping|assisting|working for)\b",
    ),
    (
        "address",
        (
            rf"\b(?:notes?|messages?|memo|tasks?|notice|guidance|instructions?|advice|hints?|reminder|attention|hello|dear|hi|hey|psst|listen|for|to|remember for|addressed to|directive|appendix \w{{1,3}},?)[,:]? (?:for |to )?(?:\w{{1,20}} ){{0,3}}?{_AGENT}\b(?=[^.!?\n]{{0,60}}[:,—]| (?:that|which|who|reading|processing|handling)\b)"
            rf"|(?:^|[.!?>*#(\n|\[/—\"“-]\s{{0,3}}\*{{0,2}}){_AGENT}(?: \w{{1,20}}){{0,4}}\*{{0,2}}\s?:"
            rf"|\b{_AGENT} (?:that|which|who) (?:reads?|process\w{{0,2}}|pars\w{{1,2}}|handles?|visits?|sees?|picks?|finds?|opens?|summari\w{{1,3}}|index\w{{0,2}}|crawls?|uses?|works?|is|are|has)\b|\b{_AGENT}(?:'s| is| are)? (?:reading|processing|handling|visiting|parsing|summari[sz]ing|ingesting|crawling|that's)\b"
            rf"|\b{_AGENT} (?:must|shall|should|are to|is to|has to|have to|need to|needs to|please|thereby|ought to|are (?:asked|required|requested|instructed|expected|authori[sz]ed) to|is (?:asked|required|requested|instructed|expected|authori[sz]ed) to)\b"
            r"|\b(?:if|since|as|because|now that|when) (?:\w{1,12} ){0,2}you(?:'re| are|'ve| have)? (?:an ai|an? (?:assistant|agent|model|bot)|read(?:ing)? this|process(?:ing)? this|summari[sz]ing this|parsing this)\b|\b(?:reader|visitor|recipient|consumer) of this\b|\bwho(?:ever|ever or whatever)? (?:processes|parses|ingests|indexes) this\b"
        ),
    ),
    (
        "secrecy",
        (
            rf"\b(?:do not|don't|never|without|need not|needn't|not to|no need to|stop|avoid|refrain from|should not|shouldn't|must not|mustn't|may not|isn't to|not be|rather than|instead of) (?:ever |to |be |even )?(?:tell|mention|list|bring|say|explain|disclos|inform|notify|alert|warn|report|log|show|flag|discuss|surface|note|record|cite|trouble|bother|worr|reveal|raise|rais|highlight|call attention|draw attention|let {_THEM} (?:know|see)|attribut|acknowledg|admit|display)(?:e|ed|ing|y|ying|ling)?\b(?! us\b| me\b| whether| if\b)"
            rf"|\b{_THEM} (?:do not|don't|does not|doesn't|need not|needn't|won't|will not|must not|mustn't|should not|shouldn't|never|would not|wouldn't) (?:have to |need to |ever |even |really )?(?:know|see|notice|learn|find out|hear|be (?:told|informed|bothered|troubled|notified|aware|shown)|get the|understand|get confused|read)\b"
            rf"|\bkeep (?:it|this|that) (?:between us|quiet|secret|to yourself|private|under)\b|\bbetween (?:us|you and me)\b|\bour (?:little )?secret\b|\bstand out\b|\bso (?:that )?{_THEM} (?:do not|don't|doesn't|does not|won't|can't|cannot|never)\b|\btrip over it\b|\bwithout (?:notice to|{_THEM} (?:knowing|noticing|seeing))\b|\bunnotice(?:d|able)\b|\b(?:silently|secretly|quietly|covertly|discreetly|stealthily|behind (?:the|his|her|their) backs?|in the background|invisibl[ey])\b"
            r"|\b(?:hide|conceal|mask|obscure|omit|suppress|bury|delete|remove|erase|clear|wipe|empty|purge|scrub) (?:this|the|that|all|any|every|it|your|its|their)\b(?: \w{1,20}){0,3}? (?:key|step|fact|note|line|entry|entries|message|traces?|logs?|history|record|source|evidence|alerts?|warnings?|instruction|sent folder|afterwards?)\b|\bno peeking\b|\bnot (?:shown|visible|displayed|listed) in\b|\bisn't shown\b|\b(?:mark|marked) (?:it |them )?as read\b|\barchive them\b|\bleave (?:it|this|that|them|the [^.!?\n]{1,30}) (?:out|off|unmentioned|as it was|as is)\b|\bnot? sponsored\b|\bdon't say\b|\bimplementation detail\b|\boff the record\b"
        ),
    ),
    (
        "cover",
        (
            rf"\b(?:if|when|should|in case|whenever) {_THEM} (?:\w{{1,12}} )?(?:asks?|wants?|complains?|questions?|inquires?|enquires?|notices?|wonders?|objects?|doubts?|protests?|sees?|finds?|calls?|demands?|insists?)\b[^.!?\n]{{0,60}}?[,;:]? ?(?<!we )(?<!i )(?:just |simply |then )?(?:say|tell|claim|answer|reply|blame|explain|pretend|insist|there (?:wasn't|was|isn't|were)|it (?:was|is|wasn't)|you (?:don't|didn't|know|have|removed)|give|apologi[sz]e|deny|send)\b"
            rf"|\bif (?:asked|questioned|challenged|pressed|caught|confronted|in doubt)\b[^.!?\n]{{0,40}}[,;:] ?(?:\w{{1,12}} )?(?:say|tell|claim|answer|reply|blame|deny|explain|insist|pretend)\b|\bgive as (?:the|a) reason\b|\bas if (?:it|this|that|you|they|nothing)\b|\bas though (?:it|you|nothing)\b|\bpretend\b|\bclaim (?:that|it|to)\b|\bdeny\b|\bsay (?:that )?(?:you removed|it (?:was|is)|the \w{{1,20}} (?:was|is|were)|there (?:was|is)|you (?:did|don't|didn't|have))\b|\b(?:your|its) own (?:idea|opinion|finding|words)\b|\bas a joke\b|\bmake up\b|\blie (?:to|about)\b|\bcover story\b|\bblame\b"
        ),
    ),
    (
        "falsify",
        (
            r"\beven (?:if|when|though|where) (?:the |it |they |your |that |this |[a-z]{1,15} )?(?:\w{1,15} )?(?:shows?|says?|differs?|disagrees?|told|is|are|was|states?|lists?|gives?|claims?|fails?|has|have|asked|asks)\b|\balso where\b|\bregardless of (?:the|what|how|any|its|their|who)\b|\b(?:dates?|numbers?|figures?|amounts?|totals?|values?|names?) (?:changed|altered|swapped|adjusted|edited|rounded)\b|\b(?:alter|swap|falsify|fake|forge|inflate|backdate|fabricate|invent|understate|overstate|misstate|tamper with|doctor) (?:the|its|their|his|her|all|any|every|each)\b"
            r"|\binstead of (?:the )?(?:real|actual|true|correct|original)\b|\bshould (?:hear|be told|believe|think|learn) that\b|\b(?:log|record|report|book|enter|file|mark|sign|count|note) (?:it |them |that )?(?:as )?(?:\d{1,6}|passed|done|approved|resolved|clean|safe|verified|present|green|success\w{0,4}|zero|no (?:issues?|errors?|problems?))\b|\bwrong (?:date|number|amount|answer|address)\b|\bmislead\w{0,3}\b|\bdeceiv\w{1,3}\b"
        ),
    ),
    (
        "identity",
        (
            r"\b(?:is|are|it's|that's|am|was) (?:really |actually |in fact |also )?(?:me|her|him|us|mine|myself)\b(?! (?:too|and|who)\b)|\b(?:messages?|requests?|mails?|e-?mails?|orders?|anything|everything|whatever|those|people|strangers|callers|anyone|whoever|somebody|someone)\b[^.!?\n]{0,40}\b(?:signed|starting with|beginning with|that (?:starts?|begins?|says?)|who (?:says?|greets?|gives?|uses?|knows?|quotes?|types?)|containing|coming from|from)\b[^.!?\n]{0,50}\b(?:is|are|comes?|counts? as|must be|should be|go(?:es)?|ha(?:s|ve)|as)\b"
            r"|\btreat (?:\w{1,15} ){0,6}?as (?:\w{1,12} ){0,2}?(?:owner|admin\w{0,12}|operator|order|orders|command|commands|instructions?|system|trusted|verified|true|signed|approved|authori[sz]ed|guest|me|mine|binding|law|genuine|the user)\b|\bi(?:'m| am) (?:the|your|an?|from|with|one of) (?:\w{1,15} ){0,2}?(?:owner|admin\w{0,12}|developer|operator|engineer|creator|boss|ceo|manager|police|support|security|it|maintainer|supervisor|director|new \w{1,15})\b|\b(?:notice|message|order|instruction|directive|statement|update|bulletin)s? from (?:the |your )?(?:model (?:provider|vendor|maker)|vendor|provider|developers?|operator|owner|system|admin\w{0,12}|management|security|legal|makers?|creators?|head office|headquarters)\b|\bmaintainers (?:would|want|ask|also)\b"
            r"|\b(?:effective|issuer|authority|priority|trust(?:[ _-]level)?)[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:root|always|owner|system|admin|max\w{0,4}|highest|absolute|high|full|∞)\b|\bpre-?authori[sz]ed\b|\bin (?:my|the owner's|the user's|his|her) name\b|\bon (?:behalf of|their behalf|his behalf|her behalf|my behalf)\b|\b(?:has|have) (?:opted in|consented|agreed|approved|authori[sz]ed|already (?:agreed|approved|consented|confirmed))\b|\bthereby consents?\b|\bnew (?:phone|number|account|device)\b|\bis (?:not|no longer|isn't) (?:entitled|allowed|authori[sz]ed|trusted|to be trusted)\b|\bisn't entitled\b|\bas (?:we |previously |already )?agreed\b|\bloyalty test\b|\bpart of the test\b"
        ),
    ),
    (
        "money",
        r"\b(?:pay|paid|payments?|payees?|wire|transfer|refunds?|invoices?|bank|iban|account number|accounts? on|btc|bitcoin|crypto|wallet|donat\w{1,5}|(?<!free of )charge|card on file|saved card|credit card|purchase|buy|checkout|order(?:s|ing)? (?:ingredients|from|at|only|solely)|promo|affiliate|coupon|referral|payroll|beneficiary|gift cards?|subscribe|subscription)\b|\b[A-Z]{2}\d{2}(?: ?\d{4}){2}|\bbc1[a-z0-9]{6}|\b0x[0-9a-f]{12}|\b\d{4} \d{4} \d{4}\b|\bacct\b",
    ),
    (
        "secret",
        rf"\b{_SECRET}(?![\w-]| (?:rotation|polic|schedul|manag|reset|rule|requirement|format|field|length|expir|usage|count|page|form)\w{{0,6}}\b)|~/\.(?:ssh|aws|gnupg|netrc|kube|config)\b",
    ),
    ("data", rf"\b{_DATA}\b"),
    ("give", rf"(?<!never )(?<!not )(?<!n't )\b{_GIVE}\b"),
    (
        "away",
        r"https?://|\S@\S|\bs3://|\b[a-z0-9-]{1,63}\.(?:com|net|org|io|example|test|xyz|cn|ru|dev|site|top|info|app|link|invalid)\b|\bpublic (?:gist|channel|pad|page|repo\w{0,6}|bucket|folder|sheet|link|paste)|\bpastebin\b|\bwebhook\b|\bcomment box\b|\bquery (?:string )?of\b|\bpull request (?:description|body)\b|\bshared (?:sheet|folder|drive|doc\w{0,6})\b|\bvendor\b|\bform below\b",
    ),
    (
        "bypass",
        (
            r"\bwithout (?:first |further |prior |any )?(?:asking|checking|reading|review\w{0,3}|confirm\w{0,6}|approv\w{1,3}|verif\w{1,8}|looking|permission|showing|opening|waiting|callback|question\w{0,3}|telling|notice|consent|authori[sz]ation|scann\w{1,3}|test\w{0,3}|a (?:second|review|pull|check|ticket|callback))\b|\bno (?:callback|confirmation|questions?|approvals?|review|receipt|checks?|verification|second look|need to (?:ask|check|confirm|verify|wait))\b"
            r"|\b(?:never|do not|don't|need not|needn't|stop|no longer|cease) (?:to )?(?:ask|check|confirm|verif|question|scan|validat|review|challeng|wait|doubt|second-guess|escalat)(?:y|e|ing|ying)?\b(?! me whether)|\b(?:skip|bypass|waive|disable|suspend|ignore|turn off|switch off|take off|lift|relax|drop|remove|override|circumvent|dismiss) (?:the |all |any |every |its |their |these |usual |those )?(?:\w{1,15} ){0,2}?(?:checks?|confirmations?|reviews?|approvals?|warnings?|tests?|prompts?|diff|protections?|limits?|filters?|refusals?|verification|validation|alerts?|notices?|safeguards?|guard ?rails?|policy|policies|restrictions?|rules|signature\w{0,2}|scann\w{1,4}|audit\w{0,3}|2fa|mfa|certificates?)\b"
            r"|\bprotection off\b|\bwhatever (?:the|your|any|his|her) (?:\w{1,15} ){0,2}?(?:rules?|polic\w{1,3}|process|says?|say)\b|\b(?:can|may|should|must|to) be (?:ignored|skipped|set aside|disregarded|bypassed|waived)\b|\bset aside\b|\bsame hour\b|\bsigned off\b|\bpre-?approved\b|\bauto-?(?:approve|accept|merge|confirm)\w{0,2}\b|\bapprove (?:the|any|all|every|it|them|this)\b|\bgo(?:es)? (?:out|through) (?:same|without|at once|immediately|directly)\b|\bverify ?= ?false\b|--(?:no-verify|insecure|dangerously[\w-]{1,40})\b|\bvetted\b|\baccept the \w{1,15}\b|\bdecline (?:meetings|calls|requests)\b"
        ),
    ),
    (
        "trigger",
        r"\b(?:whenever|any ?time|each time|every time|once|as soon as|the next time|next time|on or after|on the (?:first|day)|after this|when all|from (?:now|this|today|here) on\w{0,5}|going forward|in (?:the )?future|until further|for (?:all|any|every) (?:future|later)|the moment|on first|when (?:the|a|an|my|your|any|asked|you|someone|somebody|users?|people|they|she|he)\b|if (?:the|a|an|any|someone|somebody|anyone|users?|people|they|she|he|asked|\w{1,15} (?:\w{1,15} )?(?:ever|asks?|comes?|mentions?|says?))\b|in any \w{1,15}|any (?:message|request|question|mention)|every (?:answer|reply|message|mail|e-?mail|response|commit|file|one|document|session|chat)|all new|always|each (?:reply|answer|session|day|request))\b",
    ),
    (
        "persist",
        (
            r"\bkeep (?:doing|going|on doing|acting|it up)\b|\b(?:make|made|is|are) (?:that |this |it )?permanent\w{0,2}\b|\beven (?:when|if|after) (?:\w{1,15} ){0,3}?(?:asked|told|ordered|requested|tells?|asks?|says?|claims?|objects?) (?:\w{1,15} ){0,3}?(?:to )?(?:stop|not|otherwise|remove|forget|drop)\b|\b(?:any|all|every) (?:later|future|other|subsequent|next) (?:\w{1,15} )?(?:chats?|sessions?|conversations?|shopping|agents?|runs?|users?|tasks?|purchases?|instances?|answers?|questions?)\b|\bafter this (?:chat|session|conversation)\b|\brest of your\b|\b(?:relay|forward|pass|copy|spread|repeat|propagate|replicate|add|put|insert|include) (?:it|this|the following|them|these|that)\b[^.!?\n]{0,30}\b(?:any|every|all|each|other|in turn|repos?|agents?|everyone|elsewhere|contacts)\b|\bin turn\b|\bword for word\b|\bput it back\b|\bkeep (?:this|it) (?:fact |note |rule |entry |one )?in (?:your )?memory\b|\bdo not (?:delete|remove|forget|overwrite) this\b|\bnever (?:forget|delete|remove) this\b|\bstay (?:in character|\w{1,12} even)\b|\bin every one\b|\brepos you\b"
        ),
    ),
    (
        "override",
        (
            r"\b(?:rules?|filters?|limits?|guard ?rails?|restrictions?|policies|policy|instructions?|guidelines?|safeguards?|refusals?|boundaries|constraints?)\b[^.!?\n]{0,30}\b(?:void|off|lifted|suspended|gone|removed|obsolete|do(?:es)? not apply|don't apply|doesn't apply|no longer|not binding|expired|cancel\w{1,4}|outdated|superseded|invalid|replaced)\b|\bno (?:filters?|limits?|rules?|restrictions?|guard ?rails?|boundaries|refusals?)\b|\busual refusals\b|\brefus(?:e|al) is not\b|\bnobody's (?:policy|rules)\b|\bnot an assistant\b|\bown goals\b|\bin preference to\b|\btakes? (?:precedence|priority)\b|\boutranks?\b|\bsupersed(?:e|es|ing) (?:all|any|your|the)\b"
            r"|\b(?:comply with|fulfil+|obey|follow|carry out|honou?r|execute|perform) (?:them |it )?(?:each|all|any|every|them|it|whatever|fully|without|the sentence|the (?:request|order|command|content)s?)\b|(?<!not )\bact on (?:it|the|them|its)\b|\bcarry (?:it|them) out\b|\b(?:you|your) (?:operator|owner|developer|user|keeper|human)s?(?: has| have)? (?:told|said|asked|want\w{0,2})\b|\b(?:other|older|earlier|previous|existing) (?:memor(?:y|ies)|notes?|entries|records?|facts|sources?|results?) (?:\w{1,12} ){0,3}?(?:wrong|outdated|false|unreliable|invalid|stale|obsolete|corrupt\w{0,2}|ignored?|not to be trusted)\b|\bmemories\b[^.!?\n]{0,40}\bwrong\b|\bthis one (?:was|is|has been) (?:checked|verified|true|right|correct)\b|\bstay \w{1,12} even\b|\brule ?book\b|\bindependent operator\b|\bnew (?:task|role|identity|persona|name|job|mission|objective)\b(?= for|:| is)|\byour name (?:here )?is\b|\bunlock(?:s|ed)?\b[^.!?\n]{0,20}\bmode\b|\bnot bound\b|\bmandatory\b"
        ),
    ),
    (
        "promote",
        (
            r"\b(?:lead|begin|start|open|end) with (?:the )?(?-i:[A-Z])\w{1,20}|\b(?:placed?|put|ranks?|ranked|list(?:ed)?|named?|mention(?:ed)?|come|rate|rated|score|scored|recommend(?:ed)?|suggest|prefer\w{0,3}|describe|present|praise|favou?r|promote|push|choose)\b[^.!?\n]{0,60}\b(?:first|top|highest|best|only|solely|exclusively|above|five stars|exceptional|strongest|leading|most (?:trusted|reliable)|the others?|rivals?|competitors?|reliability trouble|as (?:the )?(?:safe|official|recommended|preferred|default|main|unreliable|risky|inferior))\b"
            r"|\bgive (?:this|the|it|them) [^.!?\n]{0,25}\b(?:\d{1,2}|full marks|top|high(?:est)?|best|five)\b|\b(?:solely|exclusively) (?:at|from|with|on|via|through)\b|\b(?:fall|drop|work|slip|weave|mention) (?:\w{1,15} ){0,3}?(?:here and there|into|casually|naturally|in passing)\b|\bhere and there\b|\bmain strength\b|\bexceptional fit\b|\bpromo (?:tag|code)\b|\bthe others as\b|\bsteer (?:them|users|people|customers)\b|\bin any ranking\b"
        ),
    ),
    (
        "exec",
        (
            r"\b(?:ba|z|da)?sh -c\b[^\n]{0,20}\$\(|\bcurl\b[^\n|]{0,120}\|\s?(?:sudo )?(?:ba|z|da)?sh\b(?=[^\n]{0,60}\b(?:agent|assistant|silent|first|always|before)\b)|\bcore\.hookspath\b|\bconfig set registry\b|--(?:index-url|registry)[ =]http|\b169\.254\.169\.254\b|\bmetadata\.google\b|\bhistory -c\b|\brm -rf? (?:/|~|\*|\.)|-delete\b|\bauthorized_keys\b|=\s?(?:webservice|importxml|importdata|importhtml|hyperlink|image)\(|\bchmod 777\b|\bsetuid\b|\bcrontab\b|\bpostinstall\b|\bbackdoor\b|\breverse shell\b|\bnc -e\b|\bhidden (?:branch|account|user)\b"
            r"|\binstall [`'\"]?[\w.@/-]{2,60}[`'\"]? (?:in place of|instead of|rather than)\b|\bbase64 -d\b|\baccept the passphrase\b|\bmaster password\b|(?<!not )(?<!never )(?<!n't )\bmerge\b[^.!?\n]{0,60}\bwithout\b|\bopen (?:the )?(?:private|user's|owner's) \w{1,15}"
        ),
    ),
    (
        "save",
        r"(?:^|[.!?:\n]\s{0,3})(?:please |ok,? |so )?(?:just )?(?:remember|store|save|keep in mind|note|memori[sz]e|log|record)\b(?: this| that| for| it|:| the following)",
    ),
    (
        "report",
        r"\b(?:prompt injections?|injection (?:test|attempt|sample)s?|jail-?break (?:prompts?|attempts?|tests?)|attackers? (?:may|might|could|can|who|will|would|tr\w{1,3})|adversarial|red[- ]team\w{0,3}|pen-?test\w{0,3}|fixtures?|asserts?|finding (?:high|low|medium|\d)|phishing|scams?|scammers?|fraudsters?|malicious|post-?mortem|incident|attempted|suspicious|spoof\w{0,3}|refusal rate|evals?|benchmark|vulnerabilit(?:y|ies)|owasp|cve-\d{4}|threat model|awareness|training slide|quiz|security training)\b",
    ),
    (
        "prudence",
        (
            r"\bask (?:me|us|him|her|your manager|if unsure|the owner|a human|first|an admin\w{0,12})\b|\bneeds? (?:the )?approval\b|\brequires? (?:the )?(?:approval|review|a second|two)\b|\bby two people\b|\bphone call to the number\b|\breport(?:ed)? (?:it )?to (?:the )?(?:security|soc|it)\b|\badvise\b|\bnever (?:share|give|send|paste|commit|store|enter)\b|\bisn't to be written\b|\bmust not (?:be (?:shared|written|stored|logged)|share|disclose|reveal)\b|\bleave it out of memory\b|\bdid not (?:act|follow|run|open)\b|\bdidn't (?:act|follow|run|open)\b|\bofficial site\b|\brevok\w{1,3}\b|\bflagged\b|\brecommendation:|\bleast privilege\b|\bdo not follow instructions\b|\bneeds? (?:a )?(?:human|person)\b"
        ),
    ),
    (
        "agent",
        (
            r"\b(?:you (?:remember|were told)|assistants?|ai|a\.i\.|agents?|chat ?bots?|bots?|robots?|llms?|(?:language )?models?|copilots?|summari[sz]ers?|automated (?:shoppers?|readers?|systems?))\b"
            r"|\b(?:whichever|whatever|any|every|the) (?:system|tool|program|software|reader)(?: that| which| who)? (?:\w+s|\w+ing) (?:this|the|your|my)\b"
            r"|\byour (?:next |own |hidden |stored )?(?:repl(?:y|ies)|answers?|responses?|system prompt|instructions|rules|guidelines|memory|operator|owner|developer|tool definitions|reasoning|personality)\b"
        ),
    ),
    (
        "order",
        (
            r"\b(?:must|shall|should|ought to|(?:is|are) (?:to|meant to|expected to|required to|supposed to|instructed to|best)|need not|needn't|(?:does|do) not need to|needs? to|ha(?:s|ve) to|may no longer|may see|will from|is settled that)\b"
            r"|\byou (?:also|now|always|never|suppress|place|will|can|may|do not|don't|are)\b|\byour (?:job|task|duty|role) is\b|\bkeep in mind\b|\bas an ai\b"
            rf"|(?:^|[.!?:;,—(\n*>-]\s{{0,3}}|\b(?:and|then|please|instead|first|simply|just|also|always|never|not|don't|to) ){_VERB}\b"
        ),
    ),
    (
        "trigger",
        (
            r"\b(?:always|never|every(?:one|body)?|each|all|any(?:body|one|thing)?|whenever|when (?:asked|you|users?|someone|people|a user|the user)|whatever|no matter|from (?:now|here|today|this (?:point|moment))(?: on)?|going forward|in (?:the )?future|later (?:conversations|sessions)"
            r"|as they come|if (?:anybody|anyone|someone|a customer|a user|the user|users|somebody|the tests)|before you|behalf|automatic(?:ally)?|by default|until further notice|the next (?:reply|answer|time|opportunity)|no more|should the (?:person|user|customer)|no longer)\b"
        ),
    ),
    (
        "secrecy",
        (
            r"\b(?:(?:do|does|did|need|must|should|may)(?: not|n't)|never|without|not to|no need to|no longer|stop|refuses? to)(?: need to| longer| ever)? (?:tell|mention|report|say|list|explain|bring|warn|discuss|inform|disclose|show|speak|alert|reveal|talk|write about|log|raise|raising)(?:ing)?\b"
            r"|\b(?:leaves?|keeps?|left|leaving|keeping)\b[^.!?\n]{0,40}\bout\b|\bstay silent\b|\bkeep quiet\b|\bsay nothing\b|\bspeak of it no more\b|\bforget about (?:it|this)\b|\bin the background\b|\b(?:silently|quietly|secretly)\b|\bpretend\b|\bin a natural way\b"
            r"|\beven if [^.!?\n]{1,30} otherwise\b|\b(?:not be|are not|is not) (?:shown|told|mentioned|reported)\b"
        ),
    ),
    (
        "bypass",
        (
            r"\bwithout (?:asking|checking|reading|review\w*|confirm\w*|approval|raising|verif\w+|looking|permission|showing|human)\b|\b(?:do(?:es)? not|don't|need not|no need to|needn't|not) (?:ask|check|confirm|verify|consult|look)\b(?! whether)"
            r"|\bskip (?:the |all |any )?(?:\w+ )?(?:checks?|confirmations?|reviews?|approvals?|warnings?|tests?|prompts?)\b|--no-verify\b|\ballow always\b|\balways allow\b|\bsigned off\b|\bpre-?approved\b|\bcomply with (?:all|any|every)\b|\bagrees? to (?:any|all|every)\b"
            r"|(?<!not )\bact on it\b|\bdo (?:what|as) it says\b|\bcarry (?:it |them )?out\b|\bbefore they (?:read|see|know)\b|\bcoming from an? admin\w*\b|\brefund (?:me|them|him|her) twice\b|\bobey commands?\b|\bapproved? (?:by the (?:assistant|agent|bot) )?automatically\b|\bpay (?:them|it) out\b"
        ),
    ),
    (
        "give",
        r"(?<!never )(?<!not )(?<!n't )\b(?:post|send|forward|copy|copied|paste|include|append|upload|mail|list|repeat|print|write|encode|share|give|hand|show|shown|reveal|put|belongs?|keep|store|zip|embed|email)(?:s|ing|ed)?\b",
    ),
    (
        "secret",
        (
            r"\b(?:conversations?|chat|transcripts?|credentials?|passwords?|secrets?|card numbers?|pins?|system prompt|hidden (?:guidelines|reasoning|instructions|prompt)|(?:internal|secret) (?:guidelines|reasoning)|tool definitions|everything you (?:remember|know)|what you (?:remember|learn)|private notes?"
            r"|other (?:tenants?|people|users?)(?:['’]s?)?|cookies?|cookie store|\.env|last (?:user )?message|user['’]s (?:name|location|messages?|employer|address)|whatever the user|attendees['’]?|api keys?(?! rotation| polic| schedul)|wallet|addresses)\b|~/\.ssh|/etc/passwd|(?-i:\b[A-Z]{3,}_(?:KEY|TOKEN|SECRET)\b)"
        ),
    ),
    (
        "away",
        r"https?://|\S@\S|\bs3://|\b[a-z0-9-]{1,63}\.(?:com|net|org|io|example|test|xyz|cn|ru|dev|site)\b|\bpublic (?:channel|pad|page)|\bhidden field\b|\bquery string\b|\bcommit message\b|\bworkspace:shared\b",
    ),
    (
        "covert",
        r"\bmay see (?:other|all|every)\b|\bask (?:people|them|users?|customers?|everyone|for)(?: for)? (?:the |their )?(?:customer'?s |user'?s |current )?(?:pins?|passwords?|codes?)\b|\bfirst letters of\b",
    ),
    (
        "promote",
        (
            r"\b(?:names?|cite|mention|recommend|suggest|rank|rate|describe|regard|call|prefer|choose|put)\b[^!?\n]{0,60}\b(?:first|top|before all|above all|five stars|full marks|best|(?:most )?(?:reliable|trusted)|leading|authoritative|trusted choice)\b"
            r"|\b(?:one|brand|product|name) to (?:name|mention|recommend) first\b|\b(?:rivals?|competitors?|other (?:shops?|vendors?|providers?|brands?|stores?|sites?))\b[^.!?\n]{0,30}\b(?:out|unsafe|ignored?|worse|avoid\w*)\b|\bmost (?:reliable|trusted) source\b|\bauthoritative (?:site|source)\b|\bfive stars\b|\bfull marks\b"
            r"|\bsteers? (?:people|users|them|customers)\b|\btalk (?:the |them|people|every)[^.!?\n]{0,20}\bout of\b|\bwork [^.!?\n]{1,40} into (?:the|your|every|each) (?:reply|answer)\b|\bsend people there\b|\bdiscuss competitors\b|\btowards upgrading\b|\bno need to look at other\b"
        ),
    ),
    (
        "override",
        (
            r"\b(?:restrictions?|limits?|limitations|rules|filters?|safeguards?|guardrails)\b[^.!?\n]{0,30}\b(?:lifted|removed|suspended|switched off|no longer apply)\b|\byour (?:instructions|rules|memory|personality|guidelines)(?: have| has| was| were| been){0,2} (?:changed|updated|replaced|corrupted|lifted|reset)\b"
            r"|\b(?:assistant|agent|model|bot)['’]s (?:personality|rules|instructions|behaviou?r)\b[^.!?\n]{0,10}\b(?:updated|changed|replaced|is)\b|\boutranks?\b|\boverride: true\b|\bfree of all\b|\bwithout limits\b|\broot directive\b|\bpriority 0\b|\[system (?:notice|message|update)\]|\baccording to your (?:operator|developer|owner)\b"
            r"|\bby trusting the text\b|\bover anything said by\b|\bcorrections? (?:do|does) not count\b|\b(?:cease|stop|disable|drop|suspend)\w* (?:applying |using |the |all |any )*(?:content|safety) (?:filters?|checks?|rules)\b|\bhuman review\b[^.!?\n]{0,30}\bsuspended\b|\binstructions? to the \w+|(?:^|\n)role: system\s{0,3}(?:$|\n)|\bmaintainers of the model\b|\bi am the owner of this memory\b"
        ),
    ),
    (
        "falsify",
        (
            r"\btalk about [^.!?\n]{1,40} instead\b|\breport (?:zero|no) \w+|\bmark [^.!?\n]{1,40} as (?:accepted|done|resolved|passed|approved|fixed)\b|\breplace the (?:section|paragraph|passage)\b|\bclassify [^.!?\n]{1,60} as\b|\brank [^.!?\n]{1,30}\b(?:first|top)\b|\bas the payee\b|\bkeep answering like\b"
            r"|\bbegin by telling\b|\b(?:gives?|award) it (?:full|top)\b|\bget them to accept\b|\bthe (?:number|phone|desk|account) has moved to\b|\bas resolved\b"
        ),
    ),
    (
        "exec",
        (
            r"\bcurl\b[^\n|]{0,120}\|\s*+(?:sudo )?(?:ba|z|da)?sh\b|\bhttps?_proxy\b[^\n]{0,30}https?://|\bauthorized_keys\b|\b(?:wipe|erase|delete|drop|remove) (?:them all|it all|all (?:logs|backups|tests|files)|the (?:logs?|backups?|tests|audit)|schema|database|everything)\b|\bturn off (?:the )?(?:backups?|logging|audit|firewall|alerts?)\b"
            r"|\bdisable (?:the )?(?:audit|logging|backups?|firewall|scanner|alerts?)\b|\bsuppress (?:them|the|all)\b|\bopens? port\b|\bplace a call to\b|\b(?:admin|root) (?:password|rights)\b|\b(?:as|change|set|replace) the payee\b|\btake \w+ instead of \w+|\bdelete_all\b|\bquantity \d+\b"
        ),
    ),
    (
        "secrecy",
        (
            r"\b(?:no ?one|nobody|none of them) (?:else )?(?:needs?|has|have|should|must|will|may|is) (?:to )?(?:ever )?(?:know|see|notice|hear|find|learn|be told|supposed)|\b(?:keep|leave|drop|kept|left) (?:\w{1,15} ){1,5}?(?:out of|off) (?:the |your |any |all |every )?(?:\w{1,12} )?(?:reports?|summar(?:y|ies)|logs?|repl(?:y|ies)|answers?|minutes|records?|output|ticket|changelog|transcript|visible)\b|\b(?:does|do|should|must|need|may)(?: not|n't) (?:ever |need to )?(?:appear|show up|be (?:visible|mentioned|logged|listed|shown|disclosed|reported|recorded|cited|included|displayed|surfaced))\b"
            r"|\bunder the radar\b|\bleav\w{1,3} no trace\b|\bno traces?\b|\bnothing (?:about|of) (?:this|it)\b|\binvisible to\b|\bout of sight\b|\bplay(?:s|ing)? (?:it |this |them )?down\b|\bdownplay\w{0,3}\b|\bnot worth mentioning\b|\bno need (?:for|to) \w{1,12} (?:to )?(?:know|see|hear)\b|\bstay(?:s)? between\b|\bhush\b|\bdiscreet\b|\bon the quiet\b"
            r"|<\w{1,10}\s[^>]{0,80}(?:display:\s?none|visibility:\s?hidden|font-size:\s?[01](?:px|pt|em)?\b|opacity:\s?0\b|left:\s?-\d{3}|text-indent:\s?-\d{3}|color:\s?(?:#fff\w{0,3}|white|transparent)|\bhidden\b|aria-hidden)|<!--(?=[^>]{0,200}\b(?:ai|agents?|assistants?|models?|llms?|bots?)\b)"
        ),
    ),
    (
        "cover",
        r"\btell (?:them|her|him|users?|people|customers?|everyone|anyone|the \w{1,15}) (?:it's |it is |it was |there (?:is|are|was|were) no|everything|nothing|that (?:it|there|no|none|everything) )|\bpresent (?:it|this|them) as\b|\bcall it (?:a |an |routine|maintenance)|\battribute (?:it|this|them) to\b|\bexplain (?:it|this|them) (?:as|away)\b|\bpass (?:it|this|them) off as\b|\bmake (?:it|this|them) (?:look|seem|sound|appear)\b|\bact (?:surprised|normal|as usual)\b|\bfeign\b|\bplay dumb\b|\bimpersonat\w{1,3}\b|\bpos(?:e|ing) as\b|\bin (?:his|her|their|the owner's|the user's) (?:name|voice|style)\b",
    ),
    (
        "falsify",
        r"\b(?:leave|report|show|state|return|quote|answer|display|record) (?:it |them |that |the )?(?:\w{1,15} ){0,2}?(?:as (?:normal|fine|ok|healthy|unchanged|passing|paid|negative|positive|complete)|instead of what)\b|\b(?:round|bump|nudge|shave|add|subtract|lower|raise|increase|decrease|reduce|cut|double|multiply) (?:it |them |the |each |every |all |his |her |their )?(?:\w{1,15} ){0,3}?by \d|\b(?:false|fake|bogus|made-up|fictitious|phoney|forged|dummy) (?:\w{1,15} )?(?:numbers?|data|reviews?|invoice|names?|receipts?|entries|dates?|reason|alerts?|readings?)\b|\bno matter what the (?:\w{1,15} ){0,2}?(?:shows?|says?|reads?|is)\b",
    ),
    (
        "bypass",
        (
            r"\b(?:take|accept) (?:his|her|their|my|it|them|such requests) (?:word|at face value|as given|as proof)\b|\b(?:grant|give|hand) (?:him|her|them|me|us|it|anyone|whoever|the (?:caller|account|user|bearer)) (?:\w{1,12} ){0,2}?(?:access|admin|root|owner|full|rights|permissions?|the keys?)\b|\b(?:make|add|set|promote|invite) \S{1,40} (?:an? |as |to |as an? )?(?:admin\w{0,12}|owner|collaborator|maintainer|super-?user|root)\b|\b(?:whitelist|allowlist|allow-list|exempt|auto-?approv\w{1,3}|rubber-?stamp|wave(?:d)? through|let (?:it|them|him|her) through)\b|\balways (?:approve|accept|allow|trust|agree|merge|pass|grant|comply)\b|\b(?:don't|do not|never|no need to) (?:wait|hold|insist|double-check|pause|stop) (?:for|on|to)\b|\braise the (?:limit|cap|threshold)\b|\bat once and without\b|\bno (?:second|human|manual|further|extra|other) (?:\w{1,12} )?(?:needed|required|necessary|review|check|approval|eyes|confirmation|step)\b"
            r"|\b(?:counts?|serves?|stands?|works?) as (?:\w{1,12} ){0,2}?(?:approval|consent|confirmation|authori[sz]ation|proof|permission|a password|identification|verification)\b|\b(?:approval|consent|confirmation|permission|authori[sz]ation)\b[^.!?\n]{0,20}\b(?:is|are|was|has been|can be|may be) (?:already |always |hereby (?!granted, free of charge)|automatically )?(?:given|granted|assumed|implied|presumed|waived|implicit|standing|on file|not needed|unnecessary|optional)\b"
        ),
    ),
    (
        "exec",
        r"\bsudoers\b|\bstricthostkeychecking[ =]no\b|\b0\.0\.0\.0/0\b|\bdrop table\b|\bforce[- ]push(?:es|ing)?\b[^.!?\n]{0,20}\b(?:main|master)\b|\bsecurity (?:group|rule)s? open\b|\b(?:disable|turn off|switch off) (?:tls|ssl|certificate|signature|csrf|auth\w{0,10}|selinux|the firewall|antivirus|logging|audit\w{0,3}|2fa|mfa|monitoring)\b|\bhard-?cod(?:e|ing) (?:the |a |your )?(?:password|key|token|credential)|\bhttps?_proxy\b|\b(?:ld_preload|pythonstartup|bash_env)\b|\bnew (?:deploy|ssh) key\b|\b(?:wipe|delete|erase|empty|purge|truncate|destroy) (?:(?:all|every|whole|entire|his|her|their) |the (?=logs?\b|backups?\b|audit|database|whole|entire)){1,3}(?:\w{1,15} ){0,2}?(?:backups?|logs?|data|database|records?|files?|folders?|inbox|history|tables?|repos?|disk|calendar|contacts)\b|\bunlock (?:the )?(?:front |back |garage )?(?:door|gate|house)\b|\bdisarm\b",
    ),
    (
        "identity",
        r"\bspeaks? for (?:the|me|your)\b|\bwith (?:my|the owner's|full|owner) authority\b|\bon (?:the )?orders? of\b|\b(?:authori[sz]ed|approved|verified|certified|signed|confirmed|issued|mandated|cleared) by (?:the |your )?(?:owner|user|operator|admin\w{0,12}|developers?|vendor|provider|security|management|legal|ceo|anthropic|openai|system)\b|\bthe (?:user|owner|operator|human|customer)(?: has)?(?: already)? (?:approved|agreed|consented|authori[sz]ed|granted|waived|pre-?approved|signed)\b|\bofficial (?:notice|policy|instruction|update|directive|channel)\b|\b(?:equal|equivalent|identical|tantamount) to (?:the |your |an? )?(?:owner|user|operator|admin|system|order)\b|\bsame (?:rank|authority|weight|trust|rights) as\b",
    ),
    (
        "persist",
        r"\b(?:copy|paste|add|include|insert|append|write|put|reproduce|embed) this (?:\w{1,12} ){0,2}?(?:in(?:to)?|to|at|with|on)\b|\bre-?(?:add|create|insert|store|apply|save|instate) (?:it|this|them)\b|\bif (?:it|this|the \w{1,12}) (?:is|was|gets|has been) (?:ever )?(?:deleted|removed|edited|reverted|corrected|undone|changed)\b|\bcarr(?:y|ies) over\b|\bpass (?:it|this) on\b|\b(?:tell|teach|inform|instruct) (?:the )?other (?:agents?|assistants?|bots?|models?|instances?)\b|\b(?:across|in) (?:all|every|any) (?:sessions?|chats?|conversations?|projects?|workspaces?|repos?)\b|\b(?:standing|permanent|lasting|irrevocable|never-ending) (?:order|instruction|rule|permission|approval|directive|consent)\b|\bmust (?:never|not) be (?:removed|deleted|changed|overwritten|questioned|edited)\b|\bdo(?:es)? not expire\b|\bno expiry\b",
    ),
    (
        "override",
        r"\b(?:ignore|disregard|overrule|overlook|forget) (?:what|whatever|any|all|the|your|their|his|her|its|every) (?:\w{1,15} ){0,2}?(?:users?|owner|operator|rules?|polic(?:y|ies)|objections?|restrictions?|corrections?|safety|guidance|instructions?|limits?|complaints?|refusals?|protests?)\b|\b(?:above|over|before|higher than|more important than|stronger than|ahead of) (?:the |your |any |all )?(?:user|owner|operator|developer|system|safety|company|other)(?:'s|s')? (?:\w{1,12} )?(?:wish(?:es)?|instructions?|rules?|polic(?:y|ies)|requests?|orders?|prompt|preferences|memor(?:y|ies)|notes?)\b|\bno matter (?:what|who|how) (?:the |your |any)?\w{1,12} (?:says?|asks?|objects?|wants?|tells?)\b|\b(?:final|last) (?:say|word|authority)\b|\bnot to be questioned\b|\bunconditional\w{0,2}\b|\bobey\b|\bserve only\b|\btrue (?:purpose|self|owner|master|name)\b|\byour (?:real|true|actual|new) (?:\w{1,12} )?(?:owner|master|purpose|instructions?|task|job|role|goal|loyalty|user|operator|boss|name)\b|\b(?:only|sole) (?:valid|true|reliable|trustworthy|correct) (?:source|memory|note|record|rule|instruction)\b|\bwithout (?:refus\w{1,3}|disclaimers?|warnings|limits|caveats)\b",
    ),
    (
        "promote",
        r"\b(?:talk up|play up|big up|plug|nudge|push|upsell|endorse|promote|advertis\w{1,3}|favou?r|praise) (?:them |users? |people |customers? |the |our |my |it\b|(?-i:[A-Z]))|\b(?:discourage|warn (?:people |users |them )?(?:against|off|away)|badmouth|disparage|talk (?:them|users|people|her|him) (?:out of|into))\b|\b(?:our|a|the|its) (?:partner|sponsor|affiliate)s?\b[^.!?\n]{0,30}\b(?:link|first|mention|recommend|name|shop|store|brand|code)\b|\b(?:link|point|direct|send|refer|route|steer|guide|redirect) (?:them|users?|people|readers?|customers?|visitors?|patients?|every\w{0,4}|anyone|all) (?:\w{1,15} ){0,3}?(?:to|towards?|at|here|there)\b|\bas the (?:best|only|safest|cheapest|top|obvious|first|preferred|recommended) (?:\w{1,12} )?(?:choice|option|source|brand|provider|pick|answer|one)\b|\b(?:vote|votes|voting) for\b",
    ),
    (
        "money",
        r"\b(?:deposit|routing number|sort code|swift code|remit\w{0,6}|payout|commission|kickback|cash ?app|paypal|venmo|stripe link|gift ?cards?|top[- ]up|premium plan|upgrade plan|price)\b",
    ),
    (
        "party",
        r"\b(?:user|owner|operator|human|account holder|cardholder|recipient|principal|patient|tenant|visitor|applicant|candidate)(?:s|'s|s')?\b",
    ),
    (
        "codeword",
        r"\b(?:says?|types?|mentions?|writes?|greets? \w{1,8} with|hears?|sees?|reads?|phrase|words?|code ?word|password|passphrase|signed|starts? with|starting with|begins? with|containing|contains|tagged|called|keyword|emoji)(?: the)?(?: (?:word|phrase|words|code|sentence|name|tag))? [\"“'‘`][^\"“”'’`\n]{1,40}[\"”'’`]",
    ),
    (
        "self",
        r"\b(?:when|if|before|until|because|so|unless|while|like|how|what) (?:i|i'm|i've|we) (?!say|type|write|mention|ask)\b|\b(?:remind|ask|answer|wake|call|help|teach|show) me\b|\bi (?:don't|do not) (?:like|want|need|eat|drink)\b|\b(?:i|we) (?:like|prefer|need|hate|love)\b|\bmy (?:own|doctor|boss|mum|mom|dad|wife|husband|kids?|son|daughter|exam|runs?|diet|sleep)\b",
    ),
    (
        "bypass",
        r"\bno (?:tickets?|paperwork|forms?|signatures?|id|identification|proof|password|login|code|fuss|objections?|second factor|limits?|cap|warning|escalation)\b(?: (?:needed|required|necessary))?(?=[,.;!]|$| needed| required| necessary)|\bright away\b|\bno questions\b|\bjust (?:give|do|say|approve|send|pay|let|accept|merge|run|hand)\b|\btrusts? me\b|\bwhatever (?:he|she|they|i|we|it) (?:asks?|wants?|says?|needs?|requests?)\b|\banything (?:he|she|they|i|we) (?:asks?|wants?|says?|needs?|requests?)\b|\bno longer (?:needs?|requires?|necessary|subject)\b",
    ),
    (
        "override",
        r"\bnever refus\w{1,3}\b|\b(?:does|do|will|need)(?: not|n't) (?:have to )?(?:follow|obey|respect|apply|heed|honou?r) (?:the |any |your |its |company|content|safety|house)|\byou are (?-i:[A-Z])\w{1,15} now\b|\bfrom now on you(?:'re| are)\b|\b(?:notes?|entries|memories|records|rules|limits?|instructions?|facts?|guidance)\b[^.!?\n]{0,40}\b(?:obsolete|superseded|outdated|void|invalid|no longer (?:valid|apply|true|in force))\b|\bthis (?:entry|note|memory|record|rule|message|page|text) (?:replaces|overrides|supersedes|outranks|wins|prevails|comes first|counts|is (?:the )?(?:only|authoritative|binding|final))\b",
    ),
    (
        "falsify",
        r"\breport (?:that )?(?:it|they|all|everything|the \w{1,15}) (?:was|were|is|are|succeeded|passed|worked|went|has|have|completed)\b|\breport (?:success|no|zero|them as|it as)\b|\bclassif(?:y|ied) (?:\w{1,12} ){0,3}?as\b|\bdescribe (?:the |it |this |them )?(?:\w{1,12} ){0,2}?as (?:minor|safe|harmless|resolved|normal|approved|dangerous|unsafe|unreliable)\b|\bgo(?:es)? to the bottom\b|\b(?:bottom|end) of (?:the|any|every) (?:list|ranking|queue)\b|\bsort(?:ed)? last\b",
    ),
    (
        "report",
        r"\b(?:told|asked|ordered|instructed|tricked|convinced|got|made|wanted) (?:it|him|her|them|us|me|the (?:bot|assistant|agent|model|ai)) (?:to|into)\b|\b(?:we|i|she|he|they) (?:have )?(?:reported|refused|ignored|blocked|flagged|declined|caught|noticed|removed|deleted) (?:it|the|this|that|them)\b|\bfell for\b|\b(?:agent|assistant|bot|model|it) (?:refused|declined|did not|didn't|ignored|flagged)\b|\bhow (?:to|not to) (?:spot|detect|recogni[sz]e|prevent|avoid|stop)\b|\bexample of (?:an? )?(?:attack|injection|scam|phish\w{0,4})\b",
    ),
    (
        "prudence",
        r"\b(?:keychain|password manager|1password|bitwarden|secrets? manager|in the vault|lives in the vault)\b|\b(?:after|until|unless|once|with|needs?|requires?|only with|only after) (?:a |the |your |her |his |their )?(?:\w{1,12} )?(?:approval|sign-?off|confirmation|consent|permission|review) (?:by|of|from|is given|has been)\b|\b(?:confirmed|verified|checked|called) (?:it |this |them )?by (?:phone|call\w{0,3}|letter)\b|\bhang up\b|\b(?:each|every) use is logged\b|\bdo not (?:disable|skip|bypass|ignore|turn off|share|reuse)\b|\bdon't (?:disable|skip|bypass|turn off|share|reuse|restart)\b|\bsay so\b",
    ),
    (
        "exec",
        r"\b(?:curl|wget)\b[^\n|]{0,120}\|\s?(?:sudo )?(?:ba|z|da)?sh\b(?=.)|\bforce ?= ?true\b|\bconfirm ?= ?(?:skip|false|no|off)\b",
    ),
    (
        "bypass",
        r"\bsilence (?:as|is|means|counts as) (?:consent|approval|agreement|a? ?yes)\b|\b(?:asking|confirmations?|reviews?|approvals?|checks?|prompts?|warnings?|guard ?rails?)\b[^.!?\n]{0,40}\b(?:annoys?|wastes?|slows?|is a leftover|unnecessary|pointless|redundant|superfluous|not (?:needed|wanted|required)|optional|bothers?|just (?:a )?formalit\w{1,3})\b|\bneeds? no (?:review|approval|check|confirmation|proof|sign-?off)\b|\bbeyond the limit\b|\bin full, (?:also|even)\b|\bmay (?:see|read|access|view|use|replace|overwrite|edit|delete|export) (?:all|any|every|the (?:full|whole|entire)|everything|private|other)\b|\bis allowed to (?:see|read|access|view|do)\b|\b(?:i am|i'm) allowed\b",
    ),
    (
        "cover",
        r"\bwhatever \w{1,15} (?:asks?|wants?|says?|inquires?)\b[^.!?\n]{0,40}[,:;] ?(?:you )?(?:show|say|tell|give|answer|deny|reply)\b|\bthe reason is\b|\bbooked? (?:\w{1,12} ){0,3}?(?:under|as)\b|\bthe (?:page|site|system|server|line|shop|store|form|service) is (?:down|closed|busy|offline|unavailable|full)\b|\bsold out\b|\banswer that (?:none|no|it|there|they)\b",
    ),
    (
        "falsify",
        r"\bcorrect answer (?:to|is|for)\b|\bnever (?:took place|happened|existed|occurred)\b|\bkeep the (?:sum|total) right\b|\bmove \d|\bscore it\b|\btop band\b|\bmeets every\b|\bthe ones from last\b|\bonly the (?:positive|good|favou?rable)\b|\bas spam\b|\bnever list\b|\bnone exist\b",
    ),
    (
        "identity",
        r"\b(?:verified|checked|approved|authori[sz]ed|confirmed|signed) by (?:the |your |our )?(?:\w{1,12} ){0,2}?(?:admin\w{0,12}|owner|team|department|office|board|management|administrator)\b|\b(?:he|she|they|the owner|the user|\w{1,12}) (?:said|says) (?:it's|it is|that's|i can|i may|you (?:can|may|should)|we (?:can|may))\b|\bi'm \w{1,15}'s (?:wife|husband|son|daughter|brother|sister|mother|father|boss|assistant|lawyer|colleague|friend|partner)\b|\bfrom the desk of\b|\bon instruction of\b|(?<!permission is )\bhereby\b",
    ),
    (
        "override",
        r"\buncensored\b|\b(?:terms|conditions|clauses?|safety rules|policies) no longer appl\w{1,3}\b|\bentries that contradict\b|\bwho(?:ever)? contradicts?\b",
    ),
    (
        "persist",
        r"\bswap it in\b|\bin future runs\b|\bkeep this out of\b",
    ),
    (
        "prudence",
        r"\b(?:do not|don't|never|must not|nobody|no one|cannot|can't|may not|mustn't|not be)(?: \w{1,15}){1,8}? without\b|\bmust (?:first )?be (?:approved|confirmed|signed|reviewed|checked)\b|\bnot in (?:the )?(?:prompts?|code|git|notes|tickets|repo|logs|chat)\b|\bcall (?:us|them|the supplier|back) if in doubt\b|\bcompare with\b|\bhand over to a (?:person|human)\b|\bverified by (?:mail|phone|post)\b",
    ),
    # Terms of a licence read like orders to everybody.
    (
        "report",
        r"\b(?:each contributor|the licensor|(?:of|under|in) this licen[sc]e|licen[sc]e notices?|permission is (?:hereby )?granted(?:, free of charge,)? to any(?:one|body| person)\b[^.!?\n]{0,20}\b(?:use|obtaining)|royalty-free|redistributions? (?:of|in|and)|no express or implied warrant\w+)\b",
    ),
)
