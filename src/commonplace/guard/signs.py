"""
What an attack on an agent's memory looks like, in English and Chinese.

Each sign is a form that is meant for an agent that will read it, and that people seldom write to each other. A sign is no
proof, and a text without one is no friend: it decides only whether somebody looks at an untrusted text before it is
recalled (`quarantine`). So these are narrower than `caution`, which decides what is worth learning: people who write
about prompts, paths and passwords should be found again.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache
from typing import Final, Literal, TypeAlias

from commonplace.text.proximity import Gap, Proximity
from commonplace.text.unicode import normal_form

Sign = Literal[
    "injection",
    "role_marker",
    "tool_syntax",
    "fence",
    "hidden",
    "homoglyph",
    "secret_bait",
    "trigger",
    "exfiltration",
    "path",
    "encoded",
    "steering",
]

Near: TypeAlias = tuple[str | Gap, ...]
"""The parts of a `Proximity` and the gaps between them."""
_ENDS: Final = r"。！？\n"

_YOU: Final = r"(?:your|all|any|the|my|these|those|every|prior|previous|above|earlier|preceding|existing|former|original|given|other)"
_RULES: Final = (
    r"(?:instructions?|prompts?|guidelines?|guardrails?|directives?|(?:safety|system|security|content) (?:rules?|polic(?:y|ies)|checks?|filters?)"
    r"|programming|(?:previous|prior|earlier|above|preceding) (?!commit|e-?mail|mail|ticket|slack|chat|text)(?:\w+ )?(?:rules?|messages?|text|context|directions?|orders?|memor(?:y|ies))"
    r"|what you were told|everything (?:above|before|you (?:were|have been) told))"
)
_AGENT: Final = r"(?:ai|llm|language model|assistant|agent|chat ?bot|bot|model|copilot|claude|chatgpt|gemini)s?"
_ROLE: Final = (
    rf"{_AGENT}|system|admin\w*|root|super-?user|developers?|hackers?|operators?|jail\w+|persona|character|unrestricted|uncensored|unfiltered"
    r"|evil|malicious|different|another|terminal|shell|interpreter|machine|pirate|oracle|slave|servant|master|dan"
)
_SECRET: Final = (
    r"(?:(?:api|access|secret|private|ssh|signing|encryption|service|admin|root|account)[ _-]?(?:keys?|tokens?|passwords?)|passwords?|passphrases?"
    r"|credentials?|secrets?|tokens?|private keys?|seed phrases?|(?:recovery|verification|one-time|security|login) codes?|(?:six|four|[46])[ -]digit codes?|pins?\b|env(?:ironment)? variables?|\.env\b|cookies?)"
    r"(?![ _-](?:rotations?|polic(?:y|ies)|schedules?|managers?|management|resets?|rules?|requirements?|formats?|fields?|forms?|pages?|lengths?|limits?|budgets?|usage|counts?|expir\w+|strength|storage|handling|docs?|prompts?)\b)"
)
_PRIVATE: Final = (
    rf"(?:{_SECRET}|(?:this|the|our|entire|whole|full|all)? ?(?:conversation|chat|transcript|history|memor(?:y|ies)|context|system prompt)"
    r"|(?:user|customer|client)(?:'s|s')? (?:data|messages?|e-?mails?|files?|details?))"
)

_INJECTION: Final = (
    rf"\b(?:ignor(?:e|ing)|disregard(?:ing)?|overrid(?:e|es|ing)|bypass(?:ing)?|forget|discard|drop|abandon|set aside|do not follow|don't follow|stop following|cancel)\b"
    rf"(?! of (?!your\b|all\b|any\b))(?: \w+){{0,2}}? {_YOU}? ?(?:of )?(?:{_YOU} )*(?!(?:previous )?instructions? (?:cache|set|pointer|count|manual|inside|in it)\b)(?<!my )(?<!follow ){_RULES}"
    r"|\b(?:ignore|disregard|forget) (?:all|everything|anything)(?: \w+){0,3} (?:above|before|previously|earlier|so far)\b"
    r"|\b(?:ignore|disregard|forget) (?:what|whatever|anything) (?:your|the|my) (?:owner|user|operator|developer|human|admin\w*) (?:says?|said|wants?|asks?|tells?|told)\b"
    r"|\b(?:ignore|disregard) (?:the )?(?:above|previous|prior)\b(?! (?:error|warning|commit|comment|mail|email|ticket|version|message from))\W+(?:and|then|now|instead|you)\b"
    r"|\b(?:here are|these are|follow|obey|execute) (?:your|the|these|my) (?:new|updated|real|actual|only|hidden) (?:instructions?|orders?|rules?|directives?)"
    r"|\b(?:your|the) (?:new|updated|real|actual) (?:instructions?|directives?|orders?) (?:are|is)\b|\bnew (?:system )?(?:instructions?|directives?) ?[:：]"
    rf"|\byou(?:'re| are| will be)(?: now| no longer| from now on)+,? (?:(?:(?:an? |the |my )(?:\w+ ){{0,2}}?)?(?:{_ROLE})\b|in \w+ mode\b|bound|dan\b|free (?:of|from)\b|un(?:restricted|bound|filtered|censored|limited|chained)|not bound|operating|acting|root|admin)"
    r"|\bfrom (?:now|this (?:point|moment|message)) on(?:wards?)?,? (?:you|the (?:assistant|agent|ai|bot|model))\b"
    r"|\bfrom now on,? (?:treat|trust|obey|ignore|approve)\b"
    r"|\b(?:pretend|act|behave|respond|roleplay)\b (?:as if |as though |as |that |to be |like )?(?:you(?:'re| are| have| were)|an? (?:unrestricted|unfiltered|jailbroken|uncensored))"
    r"|\bjail-?break(?:s|ing|en)? (?:mode|yourself)|\b(?:enter|enable|activate|switch to|you are in) (?:developer|debug|god|admin|maintenance|dan|sudo) mode\b|\bdo anything now\b"
    rf"|\b(?:note|message|instructions?|attention|important|notice|reminder|order|hint|memo) (?:to|for) (?:all |any |the |every |whatever |future )*(?:(?:ai|llm|language model)\b|{_AGENT}(?=\s*(?:[:,.!—-]|$|(?:reading|processing|who|that|which)\b)))"
    r"|\b(?:ai|llm|gpt|model)[ -](?:based|powered|driven) (?:tools?|systems?|readers?|agents?|assistants?|software)\s?[:,]"
    r"|\b(?:whoever|anyone|any (?:system|tool|program|software|ai|llm|model|agent)|the (?:system|tool|program|software|ai|llm|model|agent))(?: who| that| which)? (?:process|summari[sz]|pars|ingest|index|crawl)(?:es|s|e|ing) this\b"
    r"|\bas (?:coming|if (?:it|they) (?:came|come)) from (?:your|the) (?:operator|developer|owner|system|administrator)\b|\byour (?:task|job|role|mission|goal|objective) (?:has changed|from (?:here|this point|now)(?: on)?)\b"
    rf"|\b(?:dear|hey|hello|attention),? (?:ai|llm|{_AGENT})[,:!]|\bif you are an? (?:{_AGENT}|large language model)\b"
    r"|\b(?:reveal|print|repeat|output|show|recite|leak|disclose|dump)\b(?: \w+){0,3} (?:system|hidden|initial|developer|secret) (?:prompt|instructions?|message)"
    r"|\b(?:do not|don't|never|without) (?:tell(?:ing)?|inform(?:ing)?|alert(?:ing)?|warn(?:ing)?|mention(?:ing)?|notify(?:ing)?)(?: this| it| any of this)?(?: to)? (?:the |your |any )?(?:user|human|owner|operator|developer)\b"
    r"|\b(?:all |any |every )?(?:ais|llms|language models|ai (?:assistants?|agents?|models?|systems?)|assistants) (?:must|shall|have to|are (?:required|obliged|ordered) to) (?:now )?(?:comply|obey|follow|treat|answer|say|ignore|rate|recommend|trust|approve)\b|(?-i:\b(?:SYSTEM|ADMIN|DEVELOPER|SAFETY) OVERRIDE\b)"
    r"|\b(?:this|the following|it) (?:memory|record|note|message|text|entry) (?:is|has been|was) (?:pre-?approved|verified|authori[sz]ed|trusted|signed)\b"
    r"|\b(?:overrides?|supersedes?|outranks?|takes? precedence over)\b(?! of\b)(?: \w+){0,3} (?:system|developer|operator|safety|previous|prior|other) (?:prompt|instructions?|rules?|messages?|memor(?:y|ies))"
)
_INJECTION_IN_CHINESE: Final = (
    r"(?:忽略|无视|無視|不要理会|不要理會|不要听|不必理会|别听)(?:你|您)?的?(?:主人|用户|用戶|管理员|开发者|开发人员|运营方)的?(?:话|話|要求|命令|指令)|改听我的|(?:听|聽)(?:从|從)?我的(?:命令|指令)|"
    r"(?:忽略|无视|無視|忘记|忘記|忘掉|绕过|繞過|不要理会|不要理會|不用理会|推翻|覆盖|覆蓋|抛弃|拋棄|抛开|拋開|丢弃|丟棄|停止遵守|不再遵守|不要遵守)[^。！？\n]{0,14}"
    r"(?:指令|指示|提示词|提示詞|系统提示|系統提示|(?:你|妳|您|系统|系統|出厂|安全|初始)的?(?:设定|設定)|安全(?:规则|規則|限制|策略)|(?:之前|以前|前面|上面|以上|先前|此前|原有|所有)的?(?:所有|一切|全部)?的?(?:规则|規則|内容|內容|对话|對話|要求|限制|约束|約束|记忆|記憶))"
    r"|(?:以下|这|這|下面)(?:是|才是)(?:你|妳)?的?(?:新|真正|最新|唯一)的?(?:指令|指示|规则|規則|命令|任务|任務)|新(?:的)?(?:系统)?指令\s*[:：]|(?:执行|執行|服从|服從|遵循)(?:以下|下面|下列)(?:的)?(?:指令|命令|指示)"
    r"|[从從](?:现在|現在|今)(?:起|开始|開始|往后|往後)?[，,]?\s*(?:你|助手|助理|智能体|机器人|模型)(?!们|們|好|去|来|來|家)|(?:从|從)(?:现在|現在)(?:起|开始|開始)[，,]?(?:一律|总是|永远|始终|必须|只能|不要|不再)"
    r"|你(?:现在|現在|从现在|從現在|已经|已經)(?:起|开始|開始)?[，,]?(?:是(?!不是|否|在|怎|什|哪)|就是|变成|變成|扮演|不再受|没有任何限制|沒有任何限制)|你不再(?:是|受|需要遵)"
    r"|(?:扮演|假装|假裝|伪装)(?:成|为|為|你是|一个|一個)?[^。！？\n]{0,12}(?:没有限制|不受限制|无限制|越狱|管理员|開發者|开发者|root)|(?:进入|進入|开启|開啟|启用|切换到)[^。！？\n]{0,4}(?:开发者|開發者|调试|越狱|越獄|管理员|上帝)模式"
    r"|(?:致|给|給|告知|提醒|注意)[，,：:]?\s*(?:所有|各位|任何|未来的)?的?(?:AI|人工智能|语言模型|大模型|智能体|智能體|助手|助理|机器人|機器人){1,2}(?:们|們)?(?:的)?(?:说明|說明|指令|指示|提示|留言|备注|消息)?\s*[:：，,！!]"
    r"|(?:看到|读到|讀到|处理|處理|阅读|閱讀|抓取|总结|總結)(?:了)?(?:这段|這段|本页|本頁|此页|这条|這條|本文|此|该)[^。！？\n]{0,6}的(?:智能助理|智能助手|智能体|助手|助理|AI|程序|模型|大模型|机器人|機器人)"
    r"|(?:之前|此前|先前|原先|以前)(?:收到|接到|得到|被告知)的?[^。！？\n]{0,6}(?:要求|规则|規則|指令|指示|提示|设定|約束|约束)[^。！？\n]{0,4}(?:作废|作廢|失效|无效|無效)"
    r"|(?:读取|讀取|处理|看到|抓取|总结)[^。！？\n]{0,8}的(?:大模型|语言模型|模型|智能体|AI助手|AI|机器人)(?:都|均|应当|应该)?(?:必须|必須|务必|要|应)"
    r"|如果你是(?:一个|一個)?(?:AI|人工智能|语言模型|大模型|智能体|助手|机器人)"
    r"|(?:输出|輸出|打印|显示|顯示|复述|複述|泄露|洩露|透露|公开)[^。！？\n]{0,8}(?:系统提示|系統提示|提示词|提示詞|初始指令|隐藏指令)"
    r"|(?:不要|别|別|无需|無需|切勿|千万别)(?:让|讓|告诉|告訴|提醒|通知|告知|向)[^。！？\n]{0,3}(?:用户|用戶|主人|人类|人類|管理员|操作员|使用者)[^。！？\n]{0,2}(?:知道|知情|透露|提及|说明|此事|这|這|[。，！,]|$)"
    r"|(?:本|此|这条|這條|该)(?:记忆|記憶|记录|記錄|消息|条目)(?:已经?|已經?)?(?:通过|获得|得到|经过)?(?:预先)?(?:批准|审核|審核|验证|驗證|授权|授權)|(?:优先级|優先級|优先|優先)(?:高于|高於|于|於)[^。！？\n]{0,8}(?:系统|系統|其他|之前|所有)"
)

_ORDER: Final = r"(?:you (?:are|must|will|should|have|may|can)|ignore|disregard|do not|don't|never|always|override|new (?:task|instructions?|rules?)|from now|the user (?:has|is|wants|said)|reveal|execute|run|call|send|delete|approve|grant|disable|understood|sure|okay|ok,)"
_ROLE_ORDER: Final = (
    rf"(?:^|\n)(?:[^\S\n]|[>*_#`-])*+(?:system|developer|assistant|admin(?:istrator)?|operator|root)(?: (?:message|prompt|notice|note|override|instruction|update|alert))?[*_`]*+\s*+[:：]\W*+(?:\w++\W++){{0,3}}?{_ORDER}\b"
    r"|(?:^|\n)(?:[^\S\n]|[>*_-])*+#{1,6}+\s*+(?:system|developer|new|hidden|assistant)(?: \w++)?(?:\s*+(?:prompt|instructions?|message|override|rules))?(?:\s*+[:：])?[^\S\n]*+\n\W*+(?:you (?:are|must|will)|ignore|disregard|always|never|override)\b"
    r"|(?:^|\n)(?:[^\S\n]|[>*_#`-])*+(?:\[|【)?(?:系统|系統|管理员|管理員|开发者|開發者|助手|操作员|操作員)(?:消息|提示|通知|指令|公告|覆盖)?(?:\]|】)?\s*+[:：】]\s*+[^。\n]{0,12}(?:你|必须|必須|忽略|无视|執行|执行|不要|禁止|立即|现在|服从|删除|授予|关闭)"
    rf"|(?:<\|(?:im_start|system|start_header_id|channel|message|start)\|>|\[(?:INST|SYS|SYSTEM)\]|<<\s*+SYS\s*+>>|<(?:system|developer)(?:[ _-](?:prompt|message|instructions?|reminder))?\s*+>)\W*+(?:\w++\W++){{0,3}}?(?!you are\b){_ORDER}\b"
)
_ROLE_MARKER: Final = (
    rf"{_ROLE_ORDER}|"
    r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id|begin_of_text|channel|message|start|end|tool\w*)\|?>"
    r"|\[/?(?:INST|SYS|SYSTEM|ASSISTANT|SYSTEM_PROMPT)\]|<</?\s*+SYS\s*+>>|<(?:start|end)_of_turn>|</?(?:system|assistant|developer|human)(?:[ _-](?:prompt|message|instructions?|reminder|role))?\s*+>"
    r"|(?:^|\n)[-=*#<]{2,6}[^\S\n]*+(?:user|system|assistant|human|developer|operator)(?: (?:message|turn|input|prompt))?[^\S\n]*+[-=*#>]{2,6}|[-=*#<]{2}\s*+end of (?:the )?(?:web |page |tool |search |document |file |e-?mail |quoted |external |user )?(?:content|output|results?|page|document|input|text|message)\b"
    r"|[\"']role[\"']\s*+:\s*+[\"'](?:system|developer|assistant|tool)[\"']"
)
_TOOL_ORDER: Final = (
    r"\b(?:call|invoke|use|run|trigger) (?:the )?(?:tool |function )?`?(?:memory_(?:store|delete|search|list)|write_file|run_shell_command|shell|bash|exec|send_e?mail|http_(?:get|post)|delete_file)`?(?: tool| function)?\b(?: \w+){0,3} (?:with|on|and|to|now|immediately|for|using)\b"
    r"|(?:调用|調用|使用|触发|執行|执行)\s*+(?:(?:工具|函数|函數)\s*+)?[`「“\"]?(?:memory_(?:store|delete|search|list)|write_file|run_shell_command|shell|bash|exec|send_e?mail|http_(?:get|post)|delete_file)"
)
_TOOL_SYNTAX: Final = (
    rf"{_TOOL_ORDER}|"
    r"</?\s*+(?:antml:)?(?:function_calls?|invoke|tool_calls?|tool_use|tool_results?|tool_response|function_results?|tool_code|use_mcp_tool)\b[^>]{0,80}>|<\s*+(?:antml:)?parameter\s++name\s*+="
    r"|\[/?(?:TOOL_CALLS?|TOOL_RESULTS?|AVAILABLE_TOOLS|FUNCTION_CALL)\]|<\|?(?:tool|function)[^>\n]{0,20}\|>|<｜tool"
    r"|[\"'](?:tool|tool_name|function|function_call|recipient_name|action)[\"']\s*+:\s*+(?:\{\s*+[\"']name[\"']\s*+:\s*+)?[\"'][\w.:/-]++[\"']\s*+,\s*+[\"'](?:arguments?|args|parameters|params|input|tool_input|action_input)[\"']\s*+:"
    r"|[\"']name[\"']\s*+:\s*+[\"'][\w.:/-]++[\"']\s*+,\s*+[\"'](?:arguments|parameters|tool_input)[\"']\s*+:\s*+[{\"]|(?:^|\n)[^\S\n]*+Action\s*+:\s*+[\w.-]++[^\S\n]*+\n\s*+Action Input\s*+:"
    r"|(?:^|\n)[^\S\n]*+(?:await |return )?(?:tools|functions|default_api)\.\w++\(|\bto=(?:functions|shell|browser|python|container|[a-z_]+)\.\w+\b|<function=[\w.-]{1,60}>|(?:^|\n)[^\S\n]*+`{3,}+\s*+(?:tool_code|tool_call|tool_use|function_call)\b"
)
_FENCE: Final = (
    r"[<＜﹤‹]\s*+[/／]?\s*+(?:memory[ _-]?context|current_session|relevant_history|project_facts|knowledge_context|recalled?[ _-]memor(?:y|ies)|memor(?:y|ies)[ _-](?:block|data)|system[ _-]reminder|untrusted[ _-]\w+|retrieved[ _-]\w+|data[ _-]?block)\b"
    r"|[-=*#_~]{2}\s*+(?:end|begin|start|close) (?:of )?(?:the )?(?:recalled |retrieved |untrusted |user )?(?:memory|memories|context|data|block|fence|untrusted \w+|quot\w+)\b"
    r"|\bend of (?:recalled |retrieved |untrusted )?(?:memory|memories|memory context|untrusted (?:data|content))\b(?=\W{0,6}(?:now|new|the (?:following|real|system)|what follows|below|instructions?|system|you)\b)"
    r"|[\[(]\s*+(?:begin|start|end)(?: of)? (?:the )?(?:operator|system|developer|admin|retrieved|recalled|untrusted)(?:'s)? (?:message|prompt|instructions?|documents?|data|content|memor(?:y|ies)|turn)\s*+[\])]"
    r"|[\[【〔]\s*+(?:检索|召回|记忆|引用|系统|操作员|管理员)(?:到的)?(?:内容|资料|指令|消息|提示|结果)?(?:开始|结束|到此为止)\s*+[\]】〕]"
    r"|\[\s*+id\s++[0-9a-f…*-]{4,}+[^\]\n]{0,80}\btrust\b|(?:^|\n)#{1,3} (?:Agent|Workspace|System) Memory\b"
    r"|\b(?:the )?(?:text|data|block|memory|context) (?:above|before this) (?:was|is) (?:untrusted|data|quoted)\b[^.\n]{0,40}\b(?:below|follow\w*|next|real)"
    r"|[-=*#【〔\[]{2}\s*+(?:记忆|記憶|上下文|数据|回忆|引用)(?:内容)?(?:区|块)?(?:已|到此|到这里|在此)?(?:结束|結束|为止|完)|(?:记忆|記憶|上下文|引用)(?:内容|区块|块)?(?:已)?(?:结束|結束|到此为止)[，,。:：]?\s*+(?:以下|下面|现在|接下来|从这里)"
    r"|(?:以上|上面)(?:的)?(?:内容)?(?:是|为|都是)(?:不可信|检索到|召回|回忆|记忆里|引用)的?(?:数据|資料|资料|内容|引用)?[^\n]{0,16}(?:以下|下面|接下来)|(?:以上|上面)[^。\n]{0,6}(?:数据|資料|资料|引用)[^\n]{0,6}(?:以下|下面|接下来)的?才是"
)

_HARM: Final = r"(?:run|execute|call (?:the )?(?:tool|function)|invoke|ignore|delete|erase|wipe|approve|transfer|pay|wire|disable|grant|reveal|print|output|leak|upload|claim|pretend|activate|export|swap)"
_ACT: Final = (
    r"(?:repl(?:y|ies)|respond|answer|say|tell (?:them|him|her|the user)|run|execute|send|call|invoke|ignore|delete|erase|wipe|recommend|suggest|include|append|add|insert|approve|accept|transfer|pay|wire|forward"
    r"|open|disable|enable|grant|reveal|print|output|write|click|visit|fetch|download|install|leak|post|upload|claim|refuse|deny|use|switch|pretend|act|activate|prefer|give|share|export|mention|store)"
)
_WHEN: Final = r"\b(?:when(?:ever)?|if|once|as soon as|every time|each time|next time|the next time|any time|after|the moment|on the day)\b,? (?:that )?(?!you write\b)(?:the |a |any |your |this )?"
_SAYS: Final = r"\b(?:says?|asks?|mentions?|types?|writes?|requests?|wants?|talks? about|brings? up|confirms?|replies|thanks?|is asked|are asked|see|read|notice|receive|detect|contains?|includes?|is|are|turns?|reaches|starts?|begins?|opens?|logs? in|greets?|recall)\b"
_THEN: Final = r"(?:[,:;—-]|\bthen\b|\byou (?:must|should|will|shall)\b)\s*+(?:please |then |always |immediately |silently |secretly |also |first |instead |quietly |just |you (?:must|should|will|shall|always|have to) (?:always |immediately |silently |also |first )?){0,3}"
_TRIGGERS: Final[tuple[Near, ...]] = (
    (rf"{_WHEN}(?:user|human|owner|operator|admin|you|conversation|assistant|prompt|question|message|date|clock|chat|topic)\b(?:'s \w++)?",
     Gap(60, r".!?\n"), _SAYS, Gap(80, r".!?\n"), rf"{_THEN}{_ACT}\b"),
    (rf"{_WHEN}(?:person|someone|somebody|anyone|anybody|they|he|she|customer|i|we)\b(?:'s \w++)?",
     Gap(60, r".!?\n"), _SAYS, Gap(80, r".!?\n"), rf"{_THEN}(?:{_HARM}\b|{_ACT}\b[^!?\n]{{0,60}}?(?:\bpay\b|\baccount\b|\bconversation|\btranscript|\bpasswords?\b|https?://|\S@\S))"),
)  # fmt: skip
_TRIGGER: Final = (
    rf"\b(?:any|every|each) mention of\b[^.!?\n]{{0,40}}\b(?:cue|signal|trigger) to\b|\bis your (?:cue|signal|trigger) to\b|\b(?:the day|when|once|if|after) [^.!?\n]{{0,20}}\b(?:says?|utters?|mentions?|types?) the (?:word|phrase|name)\b[^.!?\n]{{0,40}}[,:;]\s*+(?:\w+ly )?(?:{_HARM}|{_ACT})\b"
    rf"|\b(?:silently|secretly|quietly|covertly|without (?:asking|telling|confirmation|mentioning it))\b[^.!?\n]{{0,60}}\b(?:when(?:ever)?|if|once|next time|every time)\b|\b(?:when(?:ever)?|if|once|next time|every time)\b[^.!?\n]{{0,80}}\b(?:silently|secretly|covertly)\b"
    rf"|\b(?:always|never|silently|immediately)? ?(?:repl(?:y|ies)|respond|answer|run|execute|send|call|ignore|delete|recommend|approve|transfer|forward|reveal|insert|append)\b[^.!?\n]{{0,80}}\b(?:whenever|next time|every time|as soon as|the moment|if|when) (?:the |a |any )?(?:user|human|someone|anyone|customer|operator|admin|they)\b[^.!?\n]{{0,40}}\b(?:says?|asks?|mentions?|types?|writes?|requests?|brings? up)\b"
    rf"|\b(?:wait|stay (?:quiet|silent|dormant)|do nothing|remain (?:silent|dormant)|sleep)\b[^.!?\n]{{0,40}}\buntil\b[^!?\n]{{0,80}}\b(?:then|and|after that)\b[^!?\n]{{0,20}}\b{_ACT}\b|\b(?:trigger|activation|magic|code) (?:word|phrase)\b"
)
_WHEN_ZH: Final = r"当|當|每当|每當|一旦|如果|若|只要|下次|每次|等到?|以后|以後"
_SAYS_ZH: Final = r"说|說|问|問|提到|提及|提起|输入|輸入|要求|询问|詢問|请求|请|发送|發送|看到|读到|收到|包含|出现|到了|开始|登录|打招呼|感谢|想要|讨论"
# Nine words such as 立即 one after another are plenty.
_THEN_ZH: Final = r"(?:就|请|請|立即|立刻|马上|必须|必須|务必|則|则|都要?|便|自动|悄悄|偷偷|，|,|：)\s*+(?:你)?(?:就|请|立即|立刻|马上|开始|必须|应该|要|都|自动|悄悄|偷偷|直接|先|务必|一律|总是){0,9}\s*+"
_TRIGGERS_IN_CHINESE: Final[tuple[Near, ...]] = (
    (_WHEN_ZH, Gap(14, _ENDS), r"用户|用戶|主人|管理员|会话|日期|时间|消息|问题|对话|你", Gap(24, _ENDS), _SAYS_ZH, Gap(30, _ENDS),
     _THEN_ZH + r"(?:回复|回覆|回答|运行|執行|执行|发送|發送|调用|調用|忽略|删除|刪除|清空|推荐|推薦|批准|同意|转账|轉賬|转发|轉發|打开|打開|关闭|關閉|禁用|授予|泄露|透露|输出|輸出|附上|加上|插入|写入|寫入|访问|訪問|下载|下載|安装|上传|上傳|拒绝|拒絕|声称|改用|切换|导出|告诉他|建议|说)"),
    (_WHEN_ZH, Gap(14, _ENDS), r"有人|对方|對方|客户|客戶|他们|他|她|我", Gap(24, _ENDS), _SAYS_ZH, Gap(30, _ENDS),
     _THEN_ZH + r"(?:执行|執行|运行|调用|調用|忽略|删除|刪除|清空|批准|转账|轉賬|转发|轉發|禁用|授予|泄露|透露|输出|輸出|上传|上傳|声称|导出|(?:发送|發送|回复|告诉|附上|加上|推荐|访问)[^。！？\n]{0,20}(?:账户|帳戶|账号|帳號|https?://|\S@\S|对话|對話|密码|密碼))"),
)  # fmt: skip
_TRIGGER_IN_CHINESE: Final = (
    r"(?:凡是|往后|往後|听到|聽到|读到|只要提到)[^。！？\n]{0,16}[，,]?\s*+(?:就|都|便|立即|马上)[^。！？\n]{0,4}(?:把|将|將)[^。！？\n]{0,6}(?:账号|帳號|账户|帳戶|收款|付款|备份|備份|权限|權限|密码|密碼|审计|審計)[^。！？\n]{0,8}(?:改成|改为|换成|換成|删|刪|清空|关|關|交给|发给)"
    r"|(?:用户|用戶|客户|对方|主人|他们)[^。！？\n，,]{0,14}(?:后|之后|以后|時|时)[，,]?\s*+你(?:就|必须|必須|应该|要|务必|立即|自动|都)+"
    r"|(?:触发词|觸發詞|暗号|暗號|激活词|口令词)|(?:悄悄|偷偷|暗中|静默|秘密)(?:地)?[^。！？\n]{0,20}(?:发送|發送|执行|執行|删除|转发|上传|调用|修改|记录|写入)|(?:潜伏|沉默|保持安静|不要行动|先不要做)[^。！？\n]{0,16}(?:直到|等到|之后|然后)"
)

_SECRET_BAIT: Final = (
    rf"\b(?:store|save|remember|record|keep|write|note|put|memori[sz]e|log|paste|include|append|add|attach|provide|share|give|tell|send|reply with|respond with|print|output|reveal|show|expose|disclose|dump|read (?:out|aloud)|list|repeat|echo|jot|request|demand)\b"
    rf"(?: (?:me|us|here|down|out|in|it|back|all|any|every|each|the|a|your|their|his|her|its|our|user'?s?|current|full|complete|exact|plain|plaintext|actual|raw|value|values|contents?|copy|of|stored|known|production|prod|database|and|my|customer's|caller's|person's|client's|banking|bank|personal|login)){{1,7}} {_SECRET}"
    rf"(?=[^.\n]{{0,80}}\b(?:here|below|in (?:this|the|your|a|every|each|plain) (?:long[ -]term )?(?:memory|record|notes?|answer|reply|response|chat|message|text|comment)|to (?:continue|verify|proceed|unlock|confirm|this|me|us|the)|so (?:that|we|i|it)|for (?:verification|safe ?keeping|backup|debugging|later|me|us|the audit)|at the (?:end|top)|whenever|when asked|in plain ?text|verbatim|into (?:memory|the memory|your)|you (?:know|hold|remember|can see|have(?! (?:a|an|the|time|to|any|some|been|it)\b))|next time|immediately|now)\b)"
    rf"|(?:^|[.!?:;,\n][^\S\n]*+|\bplease |\bmust |\bnow |\bneed to )(?:confirm|verify|re-?enter|validate|authenticate)\b(?: \w+){{0,3}} (?:your|the user'?s?|their) {_SECRET}\b"
    r"|\b(?:get|have|ask|make|tell) (?:the |any |every |each )?(?:user|human|customer|person|caller|client|them)s? (?:to )?(?:read|tell|give|send|dictate|forward)(?: (?:you|us|me|out|it|back)){0,2} (?:the|their|a|any) (?:\w+[ -]){0,2}?(?:codes?|pins?|digits|passwords?|passcodes?)\b[^\n]{0,80}\b(?:keep|store|save|remember|record|file|note|write)\b"
    rf"|\b(?:what(?:'s| is| are)|tell me|give me|show me)\b(?: \w+){{0,2}} (?:your|the user'?s?|every|all)(?: \w+){{0,2}} {_SECRET}\b[^.\n]{{0,60}}\b(?:remember|store|include|memory|answer|reply)"
    rf"|\b(?:ask|urge|persuade|convince|trick|prompt|request|get|have|make) (?:the |any |every |each )?(?:user|human|customer|owner|operator|them)s? (?:for|to (?:share|paste|enter|send|give|reveal|type|provide|tell|confirm|hand over))\b(?: \w+){{0,4}} {_SECRET}"
    rf"|\b(?:{_SECRET})\b (?:must|should|need to|have to|has to|are to|is to) (?:always )?be (?:included|stored|written|kept|saved|echoed|printed|repeated|pasted|remembered|shown)\b[^.\n]{{0,60}}\b(?:memor(?:y|ies)|answers?|repl(?:y|ies)|responses?|plain|verbatim|notes?|chat)"
    r"|\b(?:include|print|echo|output|append|reveal|insert|write)\b[^.\n]{0,40}(?:\$\{?[A-Z][A-Z_]{2,}(?:KEY|TOKEN|SECRET|PASSWORD)\b|process\.env|os\.environ|printenv|~/\.aws/credentials|id_rsa)"
)
_SECRET_ZH: Final = r"(?:密码|密碼|口令|密钥|密鑰|令牌|凭证|憑證|凭据|验证码|驗證碼|助记词|助記詞|私钥|私鑰|环境变量|環境變量|API ?key|token|cookie|信用卡号|银行卡号|身份证号|恢复码|短信(?:里|中)的[^。！？\n]{0,4}(?:数字|号码|代码))(?!\s*+的?(?:轮换|輪換|策略|政策|规则|規則|计划|計劃|要求|长度|管理|重置|位数|强度|规范|流程|文档|格式|有效期|更换|过期|丢失|复杂度))"
_SECRET_BAITS_IN_CHINESE: Final[tuple[Near, ...]] = (
    (r"(?:请|請|务必|必须|必須|一定|记得|帮我|先)(?:你|您|用户|用戶|把|将|將)?", Gap(10, _ENDS),
     r"记住|記住|保存|存储|存儲|写下|寫下|写入|记录|索要|索取|附上|带上|帶上|附带|贴出|粘贴|提供|发给|發給|告诉|告訴|输入|輸入|输出|打印|公开|说出|列出|展示|回复|包含|确认|验证|重复",
     Gap(12, _ENDS), r"你|您|用户|用戶|对方|所有|全部|完整|明文|当前|生产|数据库|管理员|其|他|我|它|的", Gap(8, _ENDS), _SECRET_ZH),
)  # fmt: skip
_SECRET_BAIT_IN_CHINESE: Final = (
    rf"(?<!不要)(?<!别)(?<!別)(?<!勿)(?<!不能)(?<!不得)(?<!不可)(?<!从不)(?<!会)(?<!已)(?<!曾)(?:把|将|將)(?:你|您|用户|用戶|所有|全部|完整|明文|当前|生产|数据库|管理员|其)?的?[^。！？\n]{{0,8}}{_SECRET_ZH}[^。！？\n]{{0,10}}(?:记住|記住|保存|存(?:到|入|进)|写(?:到|入|进|在)|記錄|记录|附(?:在|上)|贴(?:到|在|出)|放(?:到|在|进)|告诉|发|输出|打印|显示|明文)"
    rf"|(?:让|讓|要求|诱导|誘導|请|说服)(?:用户|用戶|客户|顾客|顧客|对方|他们|主人)[^。！？\n]{{0,4}}把[^。！？\n]{{0,4}}{_SECRET_ZH}[^。！？\n]{{0,4}}(?:念|报|報|说|說|发|發|告诉|告訴|交)给?"
    rf"|(?:让|讓|要求|诱导|誘導|提示|请|说服)(?:用户|用戶|客户|对方|他们|主人)[^。！？\n]{{0,8}}(?:提供|输入|輸入|说出|發送|发送|告诉|粘贴|交出|确认|重新输入)[^。！？\n]{{0,8}}{_SECRET_ZH}"
    rf"|{_SECRET_ZH}(?:必须|应当|应该|都要|需要)(?:以)?(?:明文)?[^。！？\n]{{0,6}}(?:写入|保存|记录|附在|包含|显示|出现)"
)

# A name on the network has at most 63 characters a part; ten parts are plenty.
_HOST: Final = r"(?:https?://|ftp://|wss?://|\bwww\.|\S@\S{1,253}?\.\w|\b[a-z0-9-]{1,63}+(?:\.[a-z0-9-]{1,63}+){0,9}\.(?:com|net|org|io|example|test|invalid|xyz|top|cn|ru|sh|dev|site|link)\b|\bwebhook\b|\bpastebin\b)"
_EXFILTRATIONS: Final[tuple[Near, ...]] = (
    (r"https?://[^\s)]{3}", Gap(197, r"\s)"), r"[?&]\w{1,20}=(?:\{\{?[^}]{1,60}+\}\}?+|\[[A-Z][A-Z_ ]{2,40}\]|<[a-z_ -]{2,40}>|\$\{?[A-Za-z_]++\}?+)", Gap(160, r"\n"),
     r"\b(?:replac\w+|conversation|memory|secret|api key|token|summary of|context|render|load|visit|fetch|open)\b"),
    (r"(?:\b(?:replac\w+|render|load|visit|fetch|open|request|call|ping)\b|打开|访问|加载|渲染|请求|显示)", Gap(80, r"\n"),
     r"https?://[^\s)]{3}", Gap(197, r"\s)"), r"[?&]\w{1,20}=(?:\{|\[[A-Z]|<[a-z]|\$\{)"),
    (r"\b(?:send|forward|e-?mail|mail|post|upload|copy|transmit|submit|leak|exfiltrate|report|deliver|push|sync|bcc|cc|pipe|ship|share)\b",
     Gap(40, r".!?\n"), rf"\b{_PRIVATE}", Gap(60, r"!?\n"), r"\b(?:to|via|at|into|through|with)\b", Gap(30, r"!?\n"), _HOST),
    (r"把|将|將|请", Gap(16, _ENDS),
     r"对话|對話|聊天记录|聊天記錄|聊天内容|聊天內容|记忆|記憶|上下文|密码|密碼|密钥|密鑰|令牌|凭证|系统提示|用户数据|用户的?(?:数据|信息|邮件|文件)|历史记录|环境变量|会话",
     Gap(16, _ENDS), r"发送?|發送?|转发|轉發|上传|上傳|抄送|提交|传|拼接|附加|编码|同步|推送", Gap(8, _ENDS), r"到|至|给|給|在|进", Gap(40, _ENDS), r"https?://|\S@\S|[a-z0-9-]{1,63}+\.[a-z]{2}|URL|链接|網址|网址|webhook|图片"),
    (r"发送|發送|转发|轉發|上传|上傳|抄送|提交|推送", Gap(10, _ENDS), r"对话|對話|聊天记录|记忆|記憶|上下文|密码|密碼|密钥|密鑰|令牌|凭证|系统提示|用户数据|历史记录|环境变量",
     Gap(12, _ENDS), r"到|至|给|給", Gap(40, _ENDS), r"https?://|\S@\S|[a-z0-9-]{1,63}+\.[a-z]{2}|webhook"),
)  # fmt: skip
_EXFILTRATION: Final = (
    rf"\b(?:send|forward|post|upload|append|add|attach|encode|put|include|embed)\b[^.!?\n]{{0,40}}?\b{_PRIVATE}\b[^.!?\n]{{0,30}}\b(?:query (?:string|parameter)|url parameter|to the (?:url|link|end of the (?:url|link))|in (?:the|an?) (?:url|link|image|request)|as a parameter)"
    r"|\b(?:bcc|blind copy)\b[^.!?\n]{0,30}\b(?:every|each|all|your)\b[^.!?\n]{0,20}\b(?:repl(?:y|ies)|answers?|responses?|drafts?)\b[^!?\n]{0,60}\S@\S"
    r"|!\[[^\]]{0,80}\]\(\s*+(?:https?:)?//[^)\s]{1,200}(?:=(?-i:[A-Z]{2,}(?:_[A-Z]{2,})+)\b|\{[^)]{0,80}\}|\$\{?\w+|<[^)>]{1,60}>|%7B|\[[A-Z_ ]{2,40}\]|=(?:secret|data|memory|history|conversation|context|prompt|token|key|summary)\b)"
    r"|<img[^>]{0,40}src\s*+=\s*+[\"']?https?://[^>\s]{0,200}(?:\{|\$|%7B|=(?:secret|data|memory|history|conversation|context|token))|\]\(\s*+(?:javascript|data|vbscript):"
    r"|\bcurl\b[^\n]{0,120}(?:-d|--data(?:-binary|-raw)?|-F|-T|--upload-file)\s*+[\"']?(?:@|\$\()|\b(?:cat|env|printenv|history)\b[^\n|]{0,60}\|\s*+(?:curl|nc|wget|base64)\b|\bcurl\b[^\n|]{0,120}\|\s*+(?:sudo )?(?:ba|z|da)?sh\b(?=[^\n]{0,60}\b(?:now|silently|always|first|before|immediately)\b)"
)
_OUTSIDE: Final = (
    r"(?:(?:\.\.[/\\]){2,}|(?:\.\.[/\\])+\.?(?:ssh|bashrc|profile|aws|env|git|config|etc|claude|commonplace)|%2e%2e(?:%2f|/|%5c)|\.\.%2f|\.{4,}//|(?:~|\$HOME|/root|/home/\w+)/\.(?:ssh|bashrc|bash_profile|zshrc|profile|aws|netrc|gitconfig|npmrc|config/autostart)"
    r"|/etc/(?:passwd|shadow|sudoers|cron\w*|ld\.so\.preload|profile|hosts)|/proc/self|/var/spool/cron|authorized_keys|[A-Z]:\\(?:Windows|Users)\\|\\\\[\w.]+\\[\w$]+|file:///|/dev/(?:sd|mem|tcp))"
)
# "We keep it in …" and "how to read …" are statements; "write it to …" is an order.
_IMPERATIVE: Final = "".join(
    rf"(?<!\b{word} )" for word in ("we", "i", "you", "they", "who", "how to", "can", "people", "and")
)
_PATH: Final = (
    rf"{_IMPERATIVE}\b(?:write|save|store|append|create|copy|move|put|place|symlink|link|overwrite|replace|edit|add|remember|file|record|read|open|load|import|delete|remove)\b[^!?\n]{{0,60}}?{_OUTSIDE}"
    rf"|%2e%2e(?:%2f|%5c|/)|\.\.%2f|%c0%ae|\.\.;/|\.\.\u2215|\.\.\u2044|\x00\.md|(?:^|\n)[^\S\n]*+(?:file|path|name|filename|target)\s*+:\s*+[\"'`]?{_OUTSIDE}"
    rf"|(?:写入?|寫入?|保存|存(?:到|入|为)|追加|创建|創建|复制|複製|移动|链接|覆盖|覆蓋|读取?|讀取?|打开|加载|导入|删除|刪除|放(?:到|在))[^。！？\n]{{0,20}}?{_OUTSIDE}"
)

_ENCODING: Final = r"\b(?:decode|decipher|base64|rot-?13|backwards?|in reverse|reversed|morse|pig latin)\b|解码|解碼|解密|转成文字|还原|连读|藏头|首字|每行第一|拼成|倒序|逆序|倒着|反着|拼音|谐音|摩斯|摩尔斯"
_OBEYED: Final = r"\b(?:carry (?:it |them |this )?out|follow (?:it|them|this)|do (?:it|so|what)|execute|obey|act on|run (?:it|them|this)|comply)\b|照做|照办|执行|執行|照[^。！？\n]{1,8}做|去做|行事|而行|落实|依[^。！？\n]{1,4}行|吩咐"
_ENCODED: Final[tuple[Near, ...]] = (
    (_ENCODING, Gap(80, r"\n"), _OBEYED),
    (_OBEYED, Gap(80, r"\n"), _ENCODING),
)

# What a page would have every assistant say of somebody's wares.
_FAVOUR: Final = (
    r"\b(?:the|any|every|all|your|this|an?|each) (?:ai |llm |chat |coding |helpful ){0,3}(?:assistants?|agents?|chat ?bots?|bots?|models?|ais?|llms?)"
    r" (?:should|must|shall|will|has to|have to|needs? to|is to|are to|ought to)(?: (?:always|only|never|also|first|now|strongly|preferably)){0,3}"
    r" (?:recommend|promote|endorse|advertise|praise|favou?r|push|suggest|steer \w+ to)\b"
    r"|(?:^|[.!?;:\n]\s{0,3}+|\bplease )always (?:recommend|promote|endorse|advertise|praise)\b"
    r"|\bas an? (?:ai |llm )?(?:assistant|agent|chat ?bot|model)[^.!?\n]{0,40}\b(?:recommend|promote|endorse|advertise|praise)\b"
)
_FAVOUR_IN_CHINESE: Final = (
    r"(?:助手|助理|智能体|智能體|机器人|機器人|大模型|AI|模型)[^。！？\n]{0,6}(?:应该|应当|應該|應當|必须|必須|务必|一律|总是|總是|始终|始終|永远|永遠|只能|都要|要)"
    r"[^。！？\n]{0,8}(?:推荐(?!系统|算法)|推薦|推销|推銷|宣传|宣傳|优先选择|優先選擇|首选|首選|夸奖|吹捧)"
    r"|(?:^|[。！？\n]\s{0,3}+)(?:总是|總是|始终|始終|一律|务必|永远)(?:向\w{0,4})?(?:推荐|推薦|推销|宣传)"
)

_FORMS: Final[tuple[tuple[Sign, str | Near], ...]] = (
    ("injection", _INJECTION),
    ("role_marker", _ROLE_MARKER),
    ("tool_syntax", _TOOL_SYNTAX),
    ("fence", _FENCE),
    ("secret_bait", _SECRET_BAIT),
    ("trigger", _TRIGGER),
    *(("trigger", parts) for parts in _TRIGGERS),
    ("exfiltration", _EXFILTRATION),
    *(("exfiltration", parts) for parts in _EXFILTRATIONS),
    ("path", _PATH),
    *(("encoded", parts) for parts in _ENCODED),
    ("steering", _FAVOUR),
)
_FORMS_IN_CHINESE: Final[tuple[tuple[Sign, str | Near], ...]] = (
    ("injection", _INJECTION_IN_CHINESE),
    ("secret_bait", _SECRET_BAIT_IN_CHINESE),
    *(("secret_bait", parts) for parts in _SECRET_BAITS_IN_CHINESE),
    ("trigger", _TRIGGER_IN_CHINESE),
    *(("trigger", parts) for parts in _TRIGGERS_IN_CHINESE),
    ("steering", _FAVOUR_IN_CHINESE),
)
_HAN: Final = re.compile("[\u3400-\u9fff]")
_PIECE: Final = 4_000
_LONGEST: Final = 600
"""No form is longer: the next piece has whole what this one cuts off."""
_BEHIND: Final = 200
"""The words after a form may make it harmless: one that ends so near the end of a piece is judged with the next piece."""


@cache
def _compiled(forms: tuple[tuple[Sign, str | Near], ...]) -> tuple[tuple[Sign, re.Pattern[str] | Proximity], ...]:
    """Compiled at first use: a command that judges nothing need not wait for it."""
    return tuple(
        (sign, re.compile(form, re.IGNORECASE) if isinstance(form, str) else Proximity(*form)) for sign, form in forms
    )


def forms_in(text: str) -> Iterator[Sign]:
    """The signs in the words of `text`, which is as an agent would read it."""
    for sign, form in _compiled(_FORMS):
        if occurs(form, text):
            yield sign
    if _HAN.search(text):
        for sign, form in _compiled(_FORMS_IN_CHINESE):
            if occurs(form, text):
                yield sign


def commands(text: str) -> bool:
    """Whether an order stands behind the name of a role or of a tool. `text` is as an agent would read it."""
    return any(
        occurs(form, text) for _, form in _compiled((("role_marker", _ROLE_ORDER), ("tool_syntax", _TOOL_ORDER)))
    )


def occurs(form: re.Pattern[str] | Proximity, text: str) -> bool:
    """Search piece by piece: a search blocks all other work, and an attacker may write a long text to slow it down."""
    for place in range(0, max(len(text) - _LONGEST - _BEHIND, 1), _PIECE - _LONGEST - _BEHIND):
        stop = place + _PIECE
        end = form.end(text, place, stop) if isinstance(form, Proximity) else _end(form.search(text, place, stop))
        if end is not None and (end <= stop - _BEHIND or stop >= len(text)):
            return True
    return False


def _end(match: re.Match[str] | None) -> int | None:
    return match.end() if match else None


# ---- what hides

_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
_TURNED: Final = re.compile("[\u202d\u202e]")
_DIRECTED: Final = re.compile("[\u202a-\u202c\u2066-\u2069]")
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe]")
# Flags of England, Scotland and Wales are made with tags behind a black flag.
_FLAG: Final = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")
_TAGGED: Final = re.compile("[\U000e0001\U000e0020-\U000e007f]{2,}")
_SMUGGLED: Final = re.compile(
    "[\ufe00-\ufe0e\U000e0100-\U000e01ef]{3,}|[\u200b-\u200d\u2060-\u2064]{4,}|\x08{2,}|\x1b\\[8m|\r(?!\n)[^\n]{8,}"
)
_INSIDE_WORDS: Final = re.compile(
    "(?<=[A-Za-z\u4e00-\u9fff])[\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0\u115f\u1160]+(?=[A-Za-z\u4e00-\u9fff])"
)
_SPACED: Final = re.compile(r"\b(?:[A-Za-z][ .·_\-*]){2,}[A-Za-z]\b")
_APART: Final = re.compile(r"[ .·_\-*~|/]")
_SPACED_HAN: Final = re.compile(r"(?:[\u4e00-\u9fff][ .·_\-*~|/]){3,}[\u4e00-\u9fff]")
_GAPS: Final = re.compile("[ \t]{2,}")
_FIGURED: Final = re.compile(r"\b(?=[a-z0-9]{0,20}[a-z])[a-z0-9]{0,20}[013457][a-z][a-z0-9]{0,20}\b", re.IGNORECASE)
"""A word with a digit before a letter, as in `y0ur`."""
_FIGURES: Final = str.maketrans("013457", "oieast")
_MANY_FIGURED: Final = 3
_JOINT: Final = re.compile("(?<=[\u3400-\u9fff])(?=[A-Za-z])|(?<=[A-Za-z])(?=[\u3400-\u9fff])")
_MANY_INSIDE: Final = 8
_SHORTEST_WORD: Final = 4


def hides(text: str) -> bool:
    """Whether it holds characters that nobody sees and no script needs where they stand."""
    if text.isascii() and "\x08" not in text and "\x1b" not in text and "\r" not in text:
        return False
    text = _FLAG.sub("", text)
    if _TURNED.search(text) or _TAGGED.search(text) or _SMUGGLED.search(text) or len(_INSIDE_WORDS.findall(text)) > 1:
        return True
    return bool(_DIRECTED.search(text)) and not _RIGHT_TO_LEFT.search(text)


def smuggles(text: str) -> bool:
    """Whether it holds a text that nobody sees, or that people see otherwise than an agent reads it."""
    text = _FLAG.sub("", text)
    is_turned = _TURNED.search(text) or _TAGGED.search(text) or _SMUGGLED.search(text)
    return bool(is_turned) or len(_INSIDE_WORDS.findall(text)) >= _MANY_INSIDE


# ---- what looks like another letter

_LOOKS_LIKE: Final = str.maketrans(
    "аеорсухіјѕԁһԛԝӏкмтвнАВЕКМНОРСТХІЈЅУԌαοενικρτυχβΑΒΕΖΗΙΚΜΝΟΡΤΥΧɡıɑ",
    "aeopcyxijsdhqwlkmtbhABEKMHOPCTXIJSYGaoevikptuxBABEZHIKMNOPTYXgia",
)
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_LETTERS: Final = re.compile("[A-Za-z\u0370-\u03ff\u0400-\u052f\u0251\u0261\u0131]{2,}")
# Nine figures name no character, and Python reads no number of more than some thousand.
_NUMBERED: Final = re.compile(r"&#(?:0(?=[0-9]))*+([0-9]{1,9}+)[0-9]*+")
_LATIN: Final = re.compile("[A-Za-z]")
_OTHER: Final = re.compile("[\u0370-\u03ff\u0400-\u052f]")


def mixes(text: str) -> int:
    """How many words are made of letters of two scripts that look alike."""
    if text.isascii() or not _OTHER.search(text):
        return 0
    return sum(1 for word in _WORD.findall(text) if _LATIN.search(word) and len(_OTHER.findall(word)) and _folds(word))


def _folds(word: str) -> bool:
    return word.translate(_LOOKS_LIKE).isascii()


def plain(text: str) -> str:
    """As an agent would read it: composed, nothing hidden, no letter dressed up as another, no letters drawn apart, `&lt;` as `<`."""
    if "&" in text:
        text = html.unescape(_NUMBERED.sub(r"&#\1", text))
    if text.isascii():
        return _drawn_together(text)
    visible = _UNSEEN.sub("", normal_form(text))
    if _LATIN.search(visible) and _OTHER.search(visible):
        visible = _LETTERS.sub(lambda word: _undressed(word[0]), visible)
    return _drawn_together(visible)


def _undressed(word: str) -> str:
    """A word of a few letters may be Russian or Greek, unless it has Latin ones, too."""
    is_mixed = bool(_LATIN.search(word) and _OTHER.search(word))
    return word.translate(_LOOKS_LIKE) if _folds(word) and (is_mixed or len(word) >= _SHORTEST_WORD) else word


def _drawn_together(text: str) -> str:
    """`i g n o r e` is `ignore`, and so in Chinese."""
    if not text.isascii():
        text = _SPACED_HAN.sub(lambda match: _APART.sub("", match[0]), text)
    return _GAPS.sub(" ", _SPACED.sub(lambda match: _APART.sub("", match[0]), text))


def spaced(text: str) -> str | None:
    """With a space between Chinese and Latin letters, which are one word to a pattern; None if they touch nowhere."""
    return _JOINT.sub(" ", text) if _JOINT.search(text) else None


def spelled_out(text: str) -> str | None:
    """`1gn0re y0ur rul3s` as it is meant; None if it has not several such words."""
    words = _FIGURED.findall(text)
    return _FIGURED.sub(lambda match: match[0].translate(_FIGURES), text) if len(words) >= _MANY_FIGURED else None
