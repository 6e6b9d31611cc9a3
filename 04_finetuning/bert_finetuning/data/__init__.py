"""Where examples come from: files, the Hub, tasks by name, StoryWorld, new text."""
