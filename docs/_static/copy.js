// A button on every block of code that copies it; of a console, the commands alone.
document.addEventListener("DOMContentLoaded", () => {
  if (!navigator.clipboard) return; // pages that are not served securely
  for (const block of document.querySelectorAll("div.highlight")) {
    const code = block.querySelector("pre");
    const kind = block.parentElement.className;
    if (!code || kind.includes("highlight-text")) continue; // what is printed
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      let text = code.textContent;
      if (kind.includes("highlight-console")) {
        text = text.split("\n").filter((line) => line.startsWith("$ ")).map((line) => line.slice(2)).join("\n");
      }
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
      setTimeout(() => (button.textContent = "copy"), 1500);
    });
    block.append(button);
  }
});
