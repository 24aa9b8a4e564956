// Draws the diagrams of a page.
"use strict";
(() => {
  if (!globalThis.mermaid) return;
  // Told at once, and not when the page is there: by then Mermaid would have drawn everything by itself, in its own way.
  const prepare = () => globalThis.mermaid.initialize({
    startOnLoad: false, securityLevel: "strict", theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "default",
    // Nothing that a diagram's author writes asks another server for anything, not even in vain; and no directive in a diagram changes that.
    dompurifyConfig: { FORBID_TAGS: ["img", "image", "picture", "source", "audio", "video", "iframe", "object", "embed", "link", "style", "form", "input"], FORBID_ATTR: ["style", "srcset", "background"] },
    secure: ["secure", "securityLevel", "startOnLoad", "maxTextSize", "suppressErrorRendering", "maxEdges", "dompurifyConfig", "themeCSS", "fontFamily", "altFontFamily"],
  });
  const draw = () => { prepare(); globalThis.mermaid.run({ querySelector: "pre.mermaid", suppressErrors: true }); };
  prepare();
  addEventListener("load", draw);
  document.addEventListener("console:fresh", draw);
})();
