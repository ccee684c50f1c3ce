"""Which statement is over, now that another one was made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.learning.contradiction import contradicts


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The user lives in Lisbon", "The user lives in Berlin"),
        ("The user moved to Lisbon (2026-02)", "The user lives in Berlin"),
        ("The user works at Globex", "The user works at Acme on billing"),
        ("The user's name is Ana", "The user's name is Anna"),
        ("The user wants to be called Bo", "The user wants to be called Robert"),
        ("The user's favourite editor is Helix", "The user's favourite editor is Vim"),
        ("The user prefers spaces over tabs", "The user prefers tabs over spaces"),
        ("The user does not like coffee", "The user likes coffee"),
        ("The user likes coffee", "The user hates coffee"),
        ("The user switched from Vim to Helix", "The user uses Vim"),
        ("The user stopped eating meat last year (2025)", "The user eats meat"),
        ("The team no longer uses Jenkins", "The team uses Jenkins for CI"),
        ("The team switched from Jenkins to GitHub Actions (2026-03-03)", "The team uses Jenkins for CI"),
        ("The team replaced Redis with Valkey", "The team uses Redis for caching"),
        ("The team uses pnpm, not npm", "The team uses npm"),
        ("The main branch is trunk", "The main branch is main"),
        ("The team's staging server is now b.heron.example", "The team's staging server is a.heron.example"),
        ("Jonas owns the payments service", "Maria owns the payments service"),
        ("Deploys happen on Wednesdays", "Deploys happen on Tuesdays"),
        ("用户住在上海", "用户住在杭州"),
        ("用户搬到了上海（2026-02）", "用户住在杭州"),
        ("用户从 Vim 换成了 Helix", "用户用的是 Vim"),
        ("用户不喜欢咖啡", "用户喜欢咖啡"),
        ("团队不再使用 Jenkins", "团队用 Jenkins 做 CI"),
        ("主分支是 trunk", "主分支是 main"),
        ("登录模块由小陈负责", "登录模块由小王负责"),
        ("日志存放在 /data/log", "日志存放在 /var/log"),
    ],
)
def test_another_value_of_what_has_one_and_what_was_given_up(new: str, old: str) -> None:
    assert contradicts(new, old)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("The user lives in Lisbon near the river", "The user lives in Lisbon"),
        ("The user lives in Lisbon", "Bo's brother lives in Rome"),
        ("The user is a nurse", "The user is vegetarian"),
        ("The user prefers tea", "The user prefers tabs over spaces"),
        ("The team uses Redis", "The team uses PostgreSQL"),
        ("The team no longer uses Jenkins", "The Jenkins admin is Bo"),
        ("The team no longer uses Redis for sessions", "The team uses PostgreSQL"),
        ("Maria owns the search service", "Maria owns the payments service"),
        ("The team's staging server is a", "The team's production server is b"),
        ("The runbook lives in docs/a.md", "The changelog lives in docs/b.md"),
        ("The team uses Vim", "The user switched from Vim to Helix"),
        ("用户喜欢喝茶", "用户喜欢咖啡"),
        ("团队用 Redis 做缓存", "团队用 PostgreSQL 做主库"),
        ("日志存放在 /data/log", "备份存放在 /data/backup"),
    ],
)
def test_what_says_more_or_something_else_contradicts_nothing(new: str, old: str) -> None:
    assert not contradicts(new, old)


@given(st.text(max_size=120), st.text(max_size=120))
def test_no_text_breaks_it_and_none_contradicts_itself(one: str, other: str) -> None:
    contradicts(one, other)

    assert not contradicts(one, one)
