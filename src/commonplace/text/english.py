"""
The English word lists of the analysis: function words, irregular forms, spelled numbers, months.

The list of function words is short on purpose: a longer one found no more on the sets we measure by, and words such as
"after", "first" or "not" do tell two memories apart. Irregular forms matter because questions ask in one tense ("what
did she buy") and memories tell in another ("I bought"). No stemmer joins them, so a table does.
"""

from typing import Final

STOP_WORDS: Final = frozenset(
    (
        "a an the of and or to in on at is are was were be been am i you he she it we they my your his her its our their "
        "me him them this that these those with for as by from do does did have has had what when where who which how why "
        "can could would should will im ive id ill youre youve theyre thats whats dont didnt doesnt isnt wasnt hes shes "
        "were weve"
    ).split()
)

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip

_IRREGULAR = """
beat beaten|become became|begin began begun|bend bent|bite bit bitten|blow blew blown|break broke broken|bring brought
build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug|draw drew drawn
dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought
find found|fly flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten
give gave given|go goes went gone gonna|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept
know knew known|lay laid|lead led|learn learnt|leave left|lend lent|light lit|lose lost|make made|mean meant|meet met
pay paid|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent
shake shook shaken|shine shone|shoot shot|show shown|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid
speak spoke spoken|spend spent|stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn
sweep swept|swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought
throw threw thrown|understand understood|wake woke woken|wear wore worn|weep wept|win won|write wrote written
child children|person people|man men|woman women|foot feet|tooth teeth|mouse mice|goose geese|wife wives|knife knives
shelf shelves|half halves|wolf wolves|loaf loaves|thief thieves|good better best|bad worse worst
0 zero|1 one|2 two|3 three|4 four|5 five|6 six|7 seven|8 eight|9 nine|10 ten|11 eleven|12 twelve|13 thirteen
14 fourteen|15 fifteen|16 sixteen|17 seventeen|18 eighteen|19 nineteen|20 twenty|30 thirty|40 forty|50 fifty
60 sixty|70 seventy|80 eighty|90 ninety|100 hundred|1000 thousand
"""

BASE_FORMS: Final = {
    form: base
    for entry in _IRREGULAR.replace("\n", "|").split("|")
    for base, *forms in [entry.split() or [""]]
    for form in forms
}
"""From an irregular form or a spelled number to the one form it is indexed under."""
