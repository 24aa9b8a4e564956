// Draws the diagrams of a page.
"use strict";
(() => {
  if (!globalThis.mermaid) return;
  // Initialize before the page has loaded: otherwise Mermaid draws everything itself with its defaults.
  const prepare = () => globalThis.mermaid.initialize({
    startOnLoad: false, securityLevel: "strict", theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "default",
    // A diagram cannot request anything from other servers, and no directive in a diagram can change that.
    dompurifyConfig: { FORBID_TAGS: ["img", "image", "picture", "source", "audio", "video", "iframe", "object", "embed", "link", "style", "form", "input"], FORBID_ATTR: ["style", "srcset", "background"] },
    secure: ["secure", "securityLevel", "startOnLoad", "maxTextSize", "suppressErrorRendering", "maxEdges", "dompurifyConfig", "themeCSS", "fontFamily", "altFontFamily"],
  });
  const draw = () => { prepare(); globalThis.mermaid.run({ querySelector: "pre.mermaid", suppressErrors: true }); };
  prepare();
  addEventListener("load", draw);
  document.addEventListener("console:fresh", draw);
})();
