"""The plain noun finds a sentence in writing without blanks between words, or with particles in the noun's word.

Source: R-REC-1.
"""

import unicodedata

import pytest

from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from projections.words import words as module
from projections.words.words import asked_words, index_words

#: For each script: a sentence, nouns of it, and a noun of another sentence.
SENTENCES = {
    "chinese": ("请把花园北边的水泵修好。密码是苍鹭七号。", ("水泵", "花园", "水"), "火车"),
    "japanese": ("庭の北側のポンプを修理してください。合言葉はサギです。", ("ポンプ", "合言葉", "庭", "ﾎﾟﾝﾌﾟ"), "電車"),
    "korean": (
        "정원 북쪽의 펌프를 고쳐 주세요. 물이 새고 암호는 왜가리입니다.",
        ("펌프", "암호", "물", "왜가리", unicodedata.normalize("NFD", "펌프")),
        "기차",
    ),
    "thai": ("กรุณาซ่อมปั๊มน้ำทางเหนือของสวน รหัสคือนกกระสา", ("ปั๊มน้ำ", "น้ำ", "สวน", "รหัส"), "แมวดำ"),
    "lao": ("ກະລຸນາສ້ອມແປງປ້ຳນ້ຳຢູ່ທາງເໜືອຂອງສວນ", ("ປ້ຳນ້ຳ", "ນ້ຳ", "ສວນ"), "ໝາດຳ"),
    "khmer": ("សូមជួសជុលម៉ាស៊ីនបូមទឹកនៅខាងជើងសួន", ("ម៉ាស៊ីនបូមទឹក", "ទឹក", "សួន"), "ឆ្មាខ្មៅ"),
    "burmese": ("ဥယျာဉ်မြောက်ဘက်ရှိရေစုပ်စက်ကိုပြင်ပေးပါ", ("ရေစုပ်စက်", "ရေ", "ဥယျာဉ်"), "ကြောင်"),
    "tibetan": ("ལྡུམ་རའི་ཆུའི་འཐེན་འཕྲུལ་བཟོས་རོགས།", ("ཆུ", "ལྡུམ་ར", "འཕྲུལ"), "ཁྱི"),
    "turkish": ("İSTANBUL'da bir bahçe", ("istanbul", "İstanbul", "bahçe"), "tren"),
    "wide letters": ("\uff30\uff35\uff2d\uff30 of the garden", ("pump", "\uff47arden"), "train"),
}


async def missed(ledger: MemoryLedger) -> list[tuple[str, str]]:
    """Return the nouns by which a sentence is not found, or is found though it has none of them."""
    for script, (sentence, _, _) in SENTENCES.items():
        await ledger.add_user_message(script, sentence)
    faults = []
    for script, (sentence, nouns, other) in SENTENCES.items():
        for noun in nouns:
            hits = await ledger.search(noun, top_k=3)
            if [hit.text for hit in hits[:1]] != [sentence]:
                faults.append((script, noun))
        if any(hit.text == sentence for hit in await ledger.search(other, session_id=script)):
            faults.append((script, other))
    return faults


async def test_the_plain_noun_finds_the_sentence_in_each_script(namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        assert await missed(ledger) == []


@pytest.mark.postgres
async def test_the_plain_noun_finds_the_sentence_in_each_script_on_postgresql(
    postgres_store: PostgresStore, namespace: str
) -> None:
    async with MemoryLedger.open(namespace=namespace, store=postgres_store) as ledger:
        assert await missed(ledger) == []


async def test_whole_runs_as_words_would_miss_them(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without pairs and characters, only texts with blanks around the noun are found."""
    monkeypatch.setattr(module, "_parts", lambda word: [word])
    monkeypatch.setattr(module, "_characters", lambda text: [])
    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        scripts = {script for script, _ in await missed(ledger)}
    assert scripts >= {"chinese", "japanese", "korean", "thai", "lao", "khmer", "burmese", "tibetan"}


def test_single_characters_make_a_text_no_longer() -> None:
    """BM25 would discount such texts otherwise."""
    assert index_words("펌프를 고쳐", language="auto").length == 3
    assert index_words("a pump of the garden", language="auto").length == 5


def test_a_question_asks_for_pairs_and_for_a_character_that_stands_alone() -> None:
    assert [word.asked for word in asked_words("펌프를 물", language="auto").words] == ["펌프", "프를", "물"]


async def test_a_mixed_word_is_found_by_each_part(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("s", "Pod이 죽어서 nginx를 다시 시작했다")
    assert [hit.text for hit in await ledger.search("pod")] == [hit.text for hit in await ledger.search("nginx")] != []
