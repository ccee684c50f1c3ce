"""How a session is set, and what it may be set to, as qwen-code's clients read it."""

from __future__ import annotations

from commonplace.values.json import Json
from commonplace.values.session_state import SessionOptions


def state_document(options: SessionOptions) -> dict[str, Json]:
    modes: list[Json] = [{"id": mode.id, "name": mode.name, "description": mode.description} for mode in options.modes]
    models: list[Json] = [
        {"modelId": model, "name": model, "description": None, "_meta": {"contextLimit": options.context}}
        for model in options.models
    ]
    return {
        "modes": {"currentModeId": options.mode, "availableModes": modes},
        "models": {"currentModelId": options.model, "availableModels": models},
        "configOptions": [
            {
                "id": "mode",
                "name": "Mode",
                "description": "Session permission mode",
                "category": "mode",
                "type": "select",
                "currentValue": options.mode,
                "options": [
                    {"value": mode.id, "name": mode.name, "description": mode.description} for mode in options.modes
                ],
            },
            {
                "id": "model",
                "name": "Model",
                "description": "AI model to use",
                "category": "model",
                "type": "select",
                "currentValue": options.model,
                "options": [{"value": model, "name": model, "description": ""} for model in options.models],
            },
        ],
    }
