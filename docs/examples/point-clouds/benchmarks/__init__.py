"""An asv suite that knows nothing of tensorcopy."""
