// Draws the diagrams of a page.
"use strict";
(() => {
  const draw = () => {
    if (!globalThis.mermaid) return;
    globalThis.mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "default" });
    globalThis.mermaid.run({ querySelector: "pre.mermaid", suppressErrors: true });
  };
  addEventListener("load", draw);
  document.addEventListener("console:fresh", draw);
})();
