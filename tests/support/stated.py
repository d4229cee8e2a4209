"""The settings that files state, in the form in which tests compare them."""

from neverlost.specs.inputs.effective_settings import ClusterConfiguration


def stated(configuration: ClusterConfiguration) -> dict[str, tuple[str, str]]:
    """By key the raw value and its place."""
    return {key: (each.value, each.where) for key, each in configuration.settings.items()}
