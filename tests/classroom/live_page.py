"""What a test does on the page of the live model: wait for what it says, find a switch."""


def says(page, words):
    page.wait_for_function("words => document.querySelector('.says').textContent.includes(words)", arg=words)


def hash_says(page, *parts):
    page.wait_for_function("parts => parts.every((part) => location.hash.includes(part))", arg=list(parts))


def part(page, name):
    return page.locator(f"[data-part='{name}']")
