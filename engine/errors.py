"""What the engine says when it will not do a thing. Only `web/errors.py` knows HTTP statuses."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """A request that the rules or the present state do not allow (H-04, H-05).

    `code` is the machine-readable reason, `message` a sentence that says what to do next, `errors`
    one entry for each bad field, and `details` further members of the answer's body.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        errors: dict[str, str] | None = None,
        **details: Any,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.errors = errors
        self.details = details

    def as_dict(self) -> dict[str, Any]:
        """The refusal as a command's row keeps it; `from_dict` gives it back."""
        return {
            "code": self.code,
            "message": self.message,
            "errors": self.errors,
            "details": self.details,
        }

    @classmethod
    def from_dict(cls, kept: dict[str, Any]) -> Refused:
        return cls(kept["code"], kept["message"], errors=kept["errors"], **kept["details"])


def invalid(field: str, message: str, code: str = "invalid") -> Refused:
    """A 400 that names one field."""
    return Refused(code, f"{field}: {message}", errors={field: message})


def not_found(what: str) -> Refused:
    return Refused("not_found", f"There is no such {what}, or it is not yours to see.")


class SettingsError(Exception):
    """A wrong setting; the message is one sentence that names it (Z-05)."""
