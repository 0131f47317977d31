"""The language of a text, by its script and its function words, and the stems of words in it. Pure.

Messages are short, so the most frequent words of a language say more about them than letters do.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain, islice, repeat
from threading import Lock
from typing import Final, Literal, TypeAlias, get_args

import regex
import Stemmer

#: How the words of texts are compared: ``auto`` by their stems in the language of each text, ``simple`` as they are,
#: the others by their stems in this language. Each has its own builds: only ever append to this list.
SearchLanguage: TypeAlias = Literal[
    "auto",
    "simple",
    "arabic",
    "armenian",
    "basque",
    "catalan",
    "czech",
    "danish",
    "dutch",
    "english",
    "esperanto",
    "estonian",
    "finnish",
    "french",
    "german",
    "greek",
    "hindi",
    "hungarian",
    "indonesian",
    "irish",
    "italian",
    "lithuanian",
    "nepali",
    "norwegian",
    "persian",
    "polish",
    "portuguese",
    "romanian",
    "russian",
    "serbian",
    "sesotho",
    "spanish",
    "swedish",
    "tamil",
    "turkish",
    "yiddish",
]
LANGUAGES: Final[tuple[SearchLanguage, ...]] = get_args(SearchLanguage)
#: The language of a text in Latin letters without function words, such as a name or code.
FALLBACK: Final = "english"

#: Of languages that have as many function words in a text, the first counts.
_FUNCTION_WORDS: Final = {
    "english": """a about all am an and any are as at be been but by can did do does for from had has have he her him
        his how i if in is it its just m me my no not of on or our re s she so t that the their them there
        they this to up us ve was we were what when where which who why will with would yes you your""",
    "german": """aber als am an auch auf aus bei bin das dass dein dem den der des dich die dir doch du ein eine einem
        einen einer er es für gibt habe haben hat hatte ich ihr im in ist ja kann kein keine mal man mein meine mich mir
        mit nach nicht noch nur oder schon sein sie sind so uns und vom von vor war waren wann warum was wenn wer werden
        wie wir wird wo zu zum zur über""",
    "french": """ai as au aux avec avez c ce ces cette comme comment d dans de des du elle en est et il ils j je l la le
        les leur ma mais mes mon n ne nous on ou où par pas plus pour qu quand que quel quelle qui s sa ses son sont sur
        t ta tu un une vous y été être""",
    "spanish": """al como con cuando cuándo cómo de del dónde el ella en es esta este está están ha hay la las le lo los
        me mi mis mucho muy más no nos o para pero por que quién qué se ser sin sobre son su sus también te tu un una y
        ya yo él""",
    "italian": """a al alla anche che chi ci come con cosa da dal del della di dove e era gli ha hai ho i il in io l la
        le lo ma mi mia mio nel nella non per perché più quando questa questo sei si sono su sua suo ti tu un una è""",
    "portuguese": """a ao as com como da das de do dos e ela ele em eu foi já mais mas me meu minha muito na no nos não
        o onde os ou para pela pelo por quando que quem se ser seu sua são também te tem um uma você à é""",
    "dutch": """aan als ben bij dan dat de die dit een en er geen haar had heb hebben heeft het hij hoe ik in is je jij
        jouw kan maar me met mijn naar niet nog of om ons ook op te uit van voor waar wanneer was wat we wel wie wij
        wordt zij zijn""",
    "danish": """af at blev de den der det du efter eller en er et for fra han har hun hvad hvem hvor hvordan hvornår i
        ikke jeg kan med meget men min mit og også om på sig skal som så til var vi vil""",
    "norwegian": """at av ble de den der det du eller en er et etter for fra ha han har hun hva hvem hvor hvordan i ikke
        jeg kan med men min mitt mye når og også om på seg skal som så til var vi vil""",
    "swedish": """att av blev de den det du där efter eller en ett från för han har hon hur i inte jag kan man med men
        min mitt mycket måste när och också om på ska som så till vad var vem vi vill är""",
    "finnish": """ei että he hän ja joka jos kanssa kuin kuka kun me mikä milloin minun minä missä miten mitä mutta
        myös ne niin nyt oli olen on ovat se sen sinun sinä tai te tämä vain""",
    "hungarian": """a az be csak de egy el ez ha hogy hogyan hol is ki meg mert mi mikor mint mit már nagyon nem te van
        vagy volt én és ő""",
    "romanian": """a ai al am ar au ca care ce cu cum când de din ei el este eu fost la lui mai mea meu nu o pe pentru
        sau se sunt tu un unde în și""",
    "polish": """ale był była co czy dla do gdzie i ja jak jest już kiedy kto ma mnie moja mój na nie o od po przez się
        są tak tu ty tylko w z za że""",
    "czech": """a ale byl byla co do je jen jsem jsi jsou já jak kde kdo když má moje můj na ne nebo o po pro se si tak
        to ty u už v z za že""",
    "turkish": """ama ben benim bir biz bu da daha de değil gibi ile için kadar kim mi mı nasıl ne nerede o olan sen
        senin siz var ve yok zaman çok""",  # noqa: RUF001
    "indonesian": """ada akan apa bagaimana bisa dan dari dengan di dia ini itu juga kami kamu kapan ke kita mereka pada
        saya siapa sudah tidak untuk yang""",
}
_LATIN: Final = tuple(_FUNCTION_WORDS)
_VOTES: Final[dict[str, list[str]]] = {}
for _language, _words in _FUNCTION_WORDS.items():
    for _word in _words.split():
        _VOTES.setdefault(_word, []).append(_language)
#: A character of writing in which words follow each other without blanks, or particles are part of their noun's word.
UNSPACED: Final = (
    r"[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Bopomofo}\p{scx=Yi}\p{scx=Hangul}\p{scx=Tibetan}"
    r"\p{Line_Break=Complex_Context}]"
)
#: The language that is usually written in a script that has words; words in other scripts are not compared by stems.
_SCRIPTS: Final = regex.compile(
    r"(?P<latin>\p{Latin})|(?P<greek>\p{Greek})|(?P<russian>\p{Cyrillic})|(?P<armenian>\p{Armenian})"
    r"|(?P<arabic>\p{Arabic})|(?P<hindi>\p{Devanagari})|(?P<tamil>\p{Tamil})"
)
_LOOKED_AT: Final = 100
_SHORT: Final = 20  # words; more of them without any function word are data
_LOCK: Final = Lock()


def detect(words: Iterable[str]) -> str | None:
    """Return the language of a text with these *words*, without case; None if its first hundred do not tell."""
    looked_at = list(islice(words, _LOOKED_AT))
    if not all(map(str.isascii, looked_at)):
        scripts = Counter(map(_script, looked_at))
        script = max(scripts, key=scripts.__getitem__)
        if script != "latin":
            return script
    votes = Counter(chain.from_iterable(map(_VOTES.get, looked_at, repeat(()))))
    best = max(_LATIN, key=votes.__getitem__)
    return best if votes[best] else None


def languages_of(words: Sequence[str], language: str) -> tuple[str, ...]:
    """Return the languages whose stems stand for the *words* of a question: the texts may be in another than it is.

    A text that does not tell its language is indexed in the `FALLBACK`. A short question that does not may be in any.
    """
    if language != "auto":
        return (language,)
    found = detect(words)
    if found is None:
        return _LATIN if len(words) <= _SHORT else (FALLBACK,)
    return tuple(dict.fromkeys((found, FALLBACK)))


@lru_cache(maxsize=200_000)
def stem(word: str, language: str) -> str:
    """Return the stem of *word* in *language*; the word itself in ``simple``."""
    if language == "simple" or (word.isascii() and not word.isalpha()):
        return word
    with _LOCK:  # a stemmer has a state
        return _stemmer(language).stemWord(word) or word


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)


def _script(word: str) -> str:
    if word[0].isascii():
        return "latin"
    script = _SCRIPTS.match(word)
    return (script and script.lastgroup) or "simple"
