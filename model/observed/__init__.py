"""The modern protocol begun where a real cluster or a figure stands; never what a run looks like on disk."""
