/* Buttons that copy code: beside each code of an answer, and at each block that is marked. */
const SHOWN_FOR = 2000; // ms, of the word "Copied"

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea"); // the clipboard may be forbidden, as in a page from the disk
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function addCopyButton(element, labels) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy-code";
  button.textContent = labels.copy;
  button.setAttribute("aria-label", element.matches("code") ? `${labels.copy}: ${element.textContent}` : labels.copy);
  button.addEventListener("click", async () => {
    await copyText(element.textContent);
    button.textContent = labels.copied;
    setTimeout(() => (button.textContent = labels.copy), SHOWN_FOR);
  });
  element.after(button);
}

function addCopying(marked) {
  const elements = marked.matches("pre") ? [marked] : marked.querySelectorAll(".answer code, pre");
  for (const element of elements) addCopyButton(element, marked.dataset);
}
