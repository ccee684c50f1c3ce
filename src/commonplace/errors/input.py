"""What a caller sent that cannot be kept or asked."""

from __future__ import annotations

from commonplace.errors.root import CommonplaceError


class InvalidInput(CommonplaceError):
    """The input cannot be used. Correct it and try again."""

    code = "invalid_input"
    status = 400


class InvalidText(InvalidInput):
    """The text cannot be stored. Give non-empty text without NUL characters or lone surrogates."""

    code = "invalid_text"


class TextTooLarge(InvalidInput):
    """The text is larger than 2 MiB. Split it, or import it as files."""

    code = "text_too_large"
    status = 413


class InvalidScope(InvalidInput):
    """
    The scope is not one we know. Write it as kind:id, where kind is session, agent, workspace, channel, user or global,
    for instance workspace:web.
    """

    code = "invalid_scope"


class InvalidKey(InvalidInput):
    """The key must have 1 to 255 printable characters."""

    code = "invalid_key"


class InvalidImportance(InvalidInput):
    """Importance is a whole number from 0 to 100."""

    code = "invalid_importance"


class InvalidQuery(InvalidInput):
    """The question cannot be searched for."""

    code = "invalid_query"


class InvalidClientId(InvalidInput):
    """The client id must have 1 to 128 letters, digits, dots, colons, dashes or underscores."""

    code = "invalid_client_id"


class BodyTooLarge(InvalidInput):
    """The request's body is too large. Send less at a time, or import files."""

    code = "body_too_large"
    status = 413


class InvalidJson(InvalidInput):
    """The body is not JSON that can be read: UTF-8, no NaN, nested at most 64 deep."""

    code = "invalid_json"


class MethodNotAllowed(InvalidInput):
    """The address is there, but not for this method. /docs shows what is."""

    code = "method_not_allowed"
    status = 405


class IdempotencyKeyReused(InvalidInput):
    """The idempotency key was used for another request. Use a new key for each request."""

    code = "idempotency_key_reused"
    status = 422


class InvalidFile(InvalidInput):
    """The file is not what was expected. Nothing was changed."""

    code = "invalid_file"


class PreconditionRequired(InvalidInput):
    """Say which version you saw: send its ETag as If-Match, or If-None-Match: * to make something new."""

    code = "precondition_required"
    status = 428


class SecretRefused(InvalidInput):
    """The text holds a private key or a cloud secret. Store where the secret lives, not the secret itself."""

    code = "secret_refused"
    status = 422


class InvalidMode(InvalidInput):
    """The mode must be append or replace."""

    code = "invalid_mode"


class InvalidContextMode(InvalidInput):
    """The context mode must be workspace or clean."""

    code = "invalid_context_mode"


class InvalidContent(InvalidInput):
    """The content must be text."""

    code = "invalid_content"


class ContentTooLarge(InvalidContent):
    """The content is larger than 1 MiB. Send it in parts."""

    code = "content_too_large"


class MemoryFileTooLarge(InvalidInput):
    """The file of memory is too large to be added to. Shorten it, or replace it."""

    code = "memory_file_too_large"
    status = 413
