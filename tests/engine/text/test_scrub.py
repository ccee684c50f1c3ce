import base64
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from commonplace.text.scrub import ScrubReport, scrub

# Put together here, so that no scanner takes this file for a leak.
PEM = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA " + "PRIVATE KEY-----"
GITHUB = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
ANTHROPIC = "sk-ant-" + "api03-Zm9vYmFyYmF6cXV4"
HEX = "0123456789abcdef" * 4
MIXED = "aB3d" * 20
DISCORD = base64.b64encode(b"123456789012345678").decode() + ".GhIjKl." + MIXED[:38]
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0." + "dBjftJeZ4CVP-mB92K27uhbUJU1p1r"

SECRETS = [
    ("Authorization: Bearer abcdefgh", "abcdefgh", "bearer"),
    ("curl -H 'authorization: bearer q1w2e3r4t5'", "q1w2e3r4t5", "bearer"),
    ("send Bearer q1w2e3r4t5 with it", "q1w2e3r4t5", "bearer"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA==", "authorization"),
    ("api_key=abcdefgh", "abcdefgh", "api_key"),
    ("apiKey: 'abc-def-123'", "abc-def-123", "api_key"),
    ("x-api-key: 12345678", "12345678", "api_key"),
    ("headers['x-api-key'] = 'abcdef123456'", "abcdef123456", "api_key"),
    ("token: abcdefgh", "abcdefgh", "token"),
    ("?access_token=abcdef12345", "abcdef12345", "token"),
    ('{\\"token\\": \\"abcdef123456\\"}', "abcdef123456", "token"),
    ("secret=abcdefgh", "abcdefgh", "secret"),
    ("client_secret: 0a1b2c3d4e,", "0a1b2c3d4e", "secret"),
    ("password: hunter2hunter2", "hunter2hunter2", "password"),
    ("DB_PASSWORD=swordfish", "swordfish", "password"),
    ('"password": "correct horse battery"', "correct horse battery", "password"),
    ("密码：hunter2hunter2", "hunter2hunter2", "password"),
    ("token: $HOME;password=hunter22", "hunter22", "password"),
    ("The password is Tr0ub4dor&3, but tell nobody.", "Tr0ub4dor&3", "password"),
    ("our password for the guest network is now “blue7fish”.", "blue7fish", "password"),
    ("wifi 密码是hunter2024，别写下来", "hunter2024", "password"),
    ("数据库密码已经改成了 P@ssw0rd!。", "P@ssw0rd", "password"),
    ("the api key is a1b2c3d4e5f6a7b8", "a1b2c3d4e5f6a7b8", "api_key"),
    ("The deploy token is 9f86d081884c7d659a2f.", "9f86d081884c7d659a2f", "token"),
    ("use sk-" + "abcdefghijklmnopqrstuvwx", "abcdefghijklmnopqrstuvwx", "api_key"),
    (ANTHROPIC, ANTHROPIC, "anthropic_key"),
    (GITHUB, GITHUB, "github_token"),
    ("gho_" + GITHUB[4:], GITHUB[4:], "github_token"),
    ("github_pat_" + "11ABCDEFG0abcdefghij", "11ABCDEFG0abcdefghij", "github_token"),
    ("glpat-" + "abcdefghij1234567890", "abcdefghij1234567890", "gitlab_token"),
    ("xoxb-" + "123456789012-abcdefghij", "123456789012", "slack_token"),
    ("AKIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE", "aws_access_key_id"),
    ("AIza" + "SyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890", "google_key"),
    ("cp_" + "Zm9vYmFyYmF6cXV4MTIzNDU2", "Zm9vYmFyYmF6", "commonplace_key"),
    ("uk_" + "0123456789abcdef0123", "0123456789abcdef", "commonplace_key"),
    (JWT, "dBjftJeZ4CVP", "jwt"),
    ("https://hooks.slack" + f".com/services/T00000000/B00000000/{MIXED[:24]}", "B00000000", "slack_webhook"),
    ("https://hooks.slack" + f".com/workflows/T0/A0/1/{MIXED[:24]}", MIXED[:24], "slack_webhook"),
    ("pypi-" + f"AgEIcHlwaS5vcmc{MIXED}", "AgEIcHlwaS5vcmc", "pypi_token"),
    ("110201543" + ":AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "AAHdqTcvCH1v", "telegram_token"),
    (
        "api.telegram.org/bot" + "110201543" + ":AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/getMe",
        "AAHdqTcvCH1v",
        "telegram_token",
    ),
    (f"client.run('{DISCORD}')", DISCORD, "discord_token"),
    ("https://discord" + f".com/api/webhooks/123456789012345678/{MIXED}", MIXED, "discord_webhook"),
    ("https://ptb.discord" + f"app.com/api/v10/webhooks/123456789012345678/{MIXED}", MIXED, "discord_webhook"),
    ("hvs." + f"CAESIJ{MIXED[:40]}", "CAESIJ", "vault_token"),
    ("vault login s." + "aB3dE6gH9jK2mN5pQ8sT1vW4", "aB3dE6gH9jK2", "vault_token"),
    ("shpat_" + HEX[:32], HEX[:32], "shopify_token"),
    ("ntn_" + MIXED[:46], MIXED[:46], "notion_token"),
    ("secret_" + f"{MIXED[:42]}x", MIXED[:42], "notion_token"),
    ("lin_api_" + MIXED[:40], MIXED[:40], "linear_key"),
    ("figd_" + MIXED[:40], MIXED[:40], "figma_token"),
    ("dapi" + f"{HEX[:32]}-2", HEX[:32], "databricks_token"),
    ("SK" + HEX[:32], HEX[:32], "twilio_key"),
    ("AC" + HEX[:32], HEX[:32], "twilio_key"),
    ("https://" + f"{HEX[:32]}@o123.ingest.sentry.io/456", HEX[:32], "sentry_dsn"),
    ("sntrys_" + f"eyJpYXQi{MIXED[:60]}", MIXED[:60], "sentry_token"),
    ("sntryu_" + HEX, HEX, "sentry_token"),
    ("postgresql://bob:s3cret@db:5432/app", "s3cret", "url_password"),
]

HARMLESS = [
    "the token: see vault",
    "password: see 1Password",
    "secret: everyone knows it",
    "the api_key: configured in the dashboard",
    "token: rotated every quarter, ask Ann",
    "password: required",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
    "Use Bearer authentication here",
    "the bearer certificates are old",
    "token = get_token()",
    "password = os.environ['DB_PASSWORD']",
    "secret: SecretStr = Field()",
    "token: Optional[str] = None",
    "password: ${DB_PASSWORD}",
    "token: $API_TOKEN",
    "User(name=name, password=hashed_password)",
    "const apiKey = 'YOUR_API_KEY_HERE';",
    'print(f"Hashed password: {user.password_hash}")',
    "token: <your-token-here>",
    "password: ********",
    "max_tokens: 1000000000",
    "task-force-of-the-year12345678",
    "sk-learn-contrib-packages",
    "cp_resize_function_of_image",
    "git@github.com:team/app.git",
    "https://example.com/a:b@c and http://localhost:8080/@me",
    "aws_secret_access_key is read from the environment",
    "-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----",
    "The password is changed every 90 days, and was rotated on 2026-05-01.",
    "The password is 14-character, and was 2026-05-01 at first.",
    "the password is sha256-hashed, the token is base64url-encoded2",
    "The token is v2.1.0-beta.4-rc.17.nightly",
    "my password was correct but the page was slow",
    "the API key is in vault://team/prod1",
    "The password for user1 is stored in 1Password.",
    "密码是至少14位，每90天更换一次。",
    "密码是14-digit",
    "我们把令牌放在保险库里，密码不要写在这里。",
    "Webhooks of Slack begin with https://hooks.slack.com/services/ and a path.",
    "hooks.slack.com/services/T…/B…/…",
    "pip install pypi-Agent",
    "at 10:30:AAAA the train left, 123456:ABC is a sample",
    "MyVeryLongModuleNameForTests.helper.another_long_function_name_here",
    "https://discord.com/api/webhooks/ is where they live",
    "the file hvs.py, and s.replace is a method",
    "self.settings.aVeryLongNameOfSomething1",
    "ntn_connection_pool_maximum, lin_api_version, figd_layout",
    "secret_santa_is_on_friday, secret_of_the_old_tower",
    "dapi is our data API; dapi-gateway-v2",
    "SKU 4711 and AC 230 V",
    "SK" + "0123456789ABCDEF" * 2,
    "https://git@example.org/app and sntry is short for Sentry",
    "AGE-SECRET-KEY-1 is how an age key begins",
]


def full_width(text: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text)


def zero_width(text: str) -> str:
    return "\u200b".join(text)


def soft(text: str) -> str:
    return text[:3] + "\u00ad\u2060" + text[3:]


@pytest.mark.parametrize(("text", "secret", "kind"), SECRETS)
def test_a_secret_is_replaced_by_what_it_was(text: str, secret: str, kind: str) -> None:
    cleaned, report = scrub(text)

    assert secret not in cleaned
    assert f"[redacted:{kind}]" in cleaned
    assert report == ScrubReport(status="redacted", redactions=1, kinds=(kind,))


@pytest.mark.parametrize("spelling", [full_width, zero_width, soft])
@pytest.mark.parametrize(
    ("token", "kind"), [(text, kind) for text, _, kind in SECRETS if scrub(text).text == f"[redacted:{kind}]"]
)
def test_a_token_is_found_however_it_is_spelled_and_the_rest_stays_as_it_was(
    token: str, kind: str, spelling: Callable[[str], str]
) -> None:
    cleaned, report = scrub(f"用 ａｂｃ {spelling(token)} 登录，ｄｅｆ\u200b")

    assert (cleaned, report.kinds) == (f"用 ａｂｃ [redacted:{kind}] 登录，ｄｅｆ\u200b", (kind,))


@pytest.mark.parametrize("spelling", [full_width, zero_width, soft])
@pytest.mark.parametrize("key", [PEM, "AGE-SECRET-KEY-1" + "QPZRY9X8" * 7 + "QP"])
def test_a_private_key_blocks_however_it_is_spelled(key: str, spelling: Callable[[str], str]) -> None:
    cleaned, report = scrub(f"a {spelling(key)}")

    assert report.status == "blocked"
    assert cleaned in ("a [redacted:private_key]", "a [redacted:age_secret_key]")


@given(st.text(st.sampled_from("ab ｃｄ，：\u200b\u00ad中👩\u200d💻①"), max_size=60))
def test_a_text_without_a_secret_stays_as_it_is_spelled(text: str) -> None:
    assert scrub(text) == (text, ScrubReport())


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_speaks_of_secrets_stays(text: str) -> None:
    assert scrub(text) == (text, ScrubReport())


def test_what_stands_around_a_secret_stays() -> None:
    text = f"Ann: set token={'a1' * 8}, then (password: hunter2hunter2). Done."

    assert scrub(text).text == "Ann: set token=[redacted:token], then (password: [redacted:password]). Done."


@pytest.mark.parametrize("text", [PEM, f"before\n{PEM}\nafter", PEM[:40], PEM.replace("RSA ", "")])
def test_a_private_key_blocks_and_is_not_handed_back(text: str) -> None:
    cleaned, report = scrub(text)

    assert (report.status, report.block_reason) == ("blocked", "private_key")
    assert "MIIE" not in cleaned


@pytest.mark.parametrize(
    "text",
    [
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG",
        "AWS_SECRET_ACCESS_KEY=abc",
        '"SecretAccessKey": "wJalrXUtnFEMI"',
    ],
)
def test_a_cloud_secret_blocks(text: str) -> None:
    report = scrub(text).report

    assert (report.status, report.block_reason) == ("blocked", "aws_secret_access_key")


@pytest.mark.parametrize("text", [GITHUB, f"key {ANTHROPIC}"])
def test_a_promotion_is_blocked_by_what_a_write_only_redacts(text: str) -> None:
    assert scrub(text).report.status == "redacted"
    assert scrub(text, strict=True).report.status == "blocked"


def test_a_promotion_is_not_blocked_by_a_password() -> None:
    assert scrub("password=hunter2hunter2", strict=True).report.status == "redacted"


def test_several_secrets_are_counted_and_named_once() -> None:
    report = scrub(f"{GITHUB} {GITHUB} password=hunter2hunter2").report

    assert report.redactions == 3
    assert report.kinds == ("github_token", "password")


FRAGMENTS = [
    *("token", "password", "api_key", "secret", "aws_secret_access_key", "Authorization", "bearer ", "密码", "pwd"),
    *(":", "=", " ", "\n", '"', "'", "`", "\\", "$", "<", ">", "[", "]", "(", "://", "@", ".", ",", "-", "{{"),
    *("sk-", "sk-ant-", "ghp_", "xoxb-", "eyJ", "AKIA", "cp_", "[redacted:", "[redacted:token]", "redacted"),
    *("hunter2hunter2", "abcdefgh", "ABCDEFGH12345678", "see", "vault", "-----BEGIN PRIVATE KEY-----", "用户"),
]
suspicious = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=4)), max_size=25).map("".join)


@settings(max_examples=400)
@given(suspicious)
@example("sk-abcdefgh1234=abcdefgh12")
@example("password=token=abcdefgh")
@example("://a:token=abcdefgh@b")
def test_what_was_scrubbed_once_is_left_as_it_is(text: str) -> None:
    cleaned = scrub(text).text

    assert scrub(cleaned) == (cleaned, ScrubReport())


@given(suspicious)
def test_the_report_says_whether_anything_changed(text: str) -> None:
    cleaned, report = scrub(text)

    assert (cleaned == text) == (report.status == "passed") == (report.redactions == 0) == (not report.kinds)


@pytest.mark.timeout(20)
@settings(max_examples=30)
@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join))
@example("token:get_token(")
@example("token='a ")
@example("-----BEGIN PRIVATE KEY-----")
@example("eyJaaaaaaaaa.")
def test_no_repetition_makes_it_slow(unit: str) -> None:
    # A search that grew with the square of the text would need minutes for these.
    scrub(unit * (100_000 // len(unit)))
