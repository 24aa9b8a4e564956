// What pages do by themselves; without it everything works, by hand.
"use strict";
(() => {
  const said = (text) => { const box = document.getElementById("said"); if (box) box.textContent = text; };

  // A button that says so can be pressed a moment after it came into sight, so that nobody presses what has just slid under the pointer.
  const hold = (root) => root.querySelectorAll("button[data-patience]").forEach((b) => {
    b.disabled = true;
    setTimeout(() => { b.disabled = false; }, Number(b.dataset.patience));
  });

  // busy tells a page that somebody is writing in, or reading by selection: it must not change under their hands.
  const busy = () => {
    const at = document.activeElement;
    if (at && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && at.type !== "hidden") return true;
    return [...document.querySelectorAll("main input[type=text], main textarea")].some((i) => i.value !== i.defaultValue);
  };

  // look fetches the page anew and takes over what has changed, keeping the focus.
  let looking = false, again = false;
  const look = async () => {
    if (looking) { again = true; return; }
    looking = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
      if (answer.redirected) { location.assign(answer.url); return; }
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const now = document.getElementById("main"), then = fresh.getElementById("main");
      if (then && !busy() && now.innerHTML !== then.innerHTML) {
        const open = [...now.querySelectorAll("details")].map((d) => d.open), key = document.activeElement && document.activeElement.id;
        now.replaceChildren(...then.childNodes);
        now.querySelectorAll("details").forEach((d, i) => { if (open[i] !== undefined) d.open = open[i]; });
        if (key && key !== "main") { const back = document.getElementById(key); if (back) back.focus(); }
        hold(now); streams(now);
        document.dispatchEvent(new Event("console:fresh"));
      }
      const live = fresh.body.dataset.live;
      if (!live) { delete document.body.dataset.live; }
    } catch { /* the server is away: the next event, or the person, tries again */ }
    looking = false;
    if (again) { again = false; setTimeout(look, 100); }
  };

  // streams has blocks of text grow with what events bring.
  const streams = (root) => root.querySelectorAll("[data-stream]").forEach((box) => {
    if (box.dataset.open) return;
    box.dataset.open = "yes";
    const source = new EventSource(box.dataset.stream);
    source.addEventListener(box.dataset.event, (e) => {
      if (!box.isConnected) { source.close(); return; }
      const below = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
      const data = JSON.parse(e.data);
      box.firstChild.append(data[box.dataset.field] || "");
      if (below) box.scrollTop = box.scrollHeight;
    });
  });

  const count = async () => {
    try {
      const answer = await fetch("/approvals/count", { credentials: "same-origin" });
      if (!answer.ok) return;
      const n = Number(await answer.text());
      document.querySelectorAll("[data-count=approvals]").forEach((s) => {
        const was = Number(s.textContent || 0);
        s.textContent = n > 0 ? String(n) : "";
        if (n > was) said(n === 1 ? "One approval waits for you." : n + " approvals wait for you.");
      });
      document.title = document.title.replace(/^\(\d+\) /, "");
      if (n > 0) document.title = "(" + n + ") " + document.title;
    } catch { /* as above */ }
  };

  const begin = () => {
    hold(document); streams(document); count();
    const live = (document.body.dataset.live || "").split(" ").filter(Boolean);
    if (live.includes("tick")) setInterval(() => { if (document.body.dataset.live) look(); }, 1000);
    const events = new EventSource("/api/v1/events");
    events.addEventListener("ai-tool-confirmation", count);
    events.addEventListener("ai-tool-state", count);
    events.addEventListener("ai-tool-result", count);
    let timer;
    const soon = () => { clearTimeout(timer); timer = setTimeout(look, 50); };
    live.filter((k) => k !== "tick").forEach((kind) => events.addEventListener(kind, soon));
    addEventListener("pagehide", () => events.close());
  };
  if (document.querySelector(".top")) begin();
})();
