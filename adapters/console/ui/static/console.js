// Live updates of the console pages. Without it every page works, but must be reloaded.
"use strict";
(() => {
  // said announces a text to screen readers and, if shows is true, shows it for 6 seconds.
  let fading = 0;
  const said = (text, shows = true) => {
    const box = document.getElementById("said");
    if (!box) return;
    box.textContent = text;
    box.className = shows ? "toast" : "visually-hidden";
    clearTimeout(fading);
    fading = setTimeout(() => { box.className = "visually-hidden"; }, 6000);
  };
  const main = () => document.getElementById("main");
  const lives = () => (document.body.dataset.live || "").split(" ").filter(Boolean);

  // A button that just appeared or moved under the pointer ignores presses for a short time.
  let slid = 0;
  const hold = () => {
    slid = performance.now();
    const most = Math.max(0, ...[...document.querySelectorAll("button[data-patience]")].map((b) => Number(b.dataset.patience)));
    if (!most) return;
    document.body.dataset.held = "";
    setTimeout(() => { if (performance.now() - slid >= most - 20) delete document.body.dataset.held; }, most);
  };
  // A press that activates the window may be meant for another window, and the page may have changed while it was hidden.
  addEventListener("focus", hold);
  addEventListener("pageshow", (e) => { if (e.persisted) hold(); });
  document.addEventListener("click", (e) => {
    const button = e.target.closest && e.target.closest("button[data-patience]");
    if (!button || performance.now() - slid >= Number(button.dataset.patience)) return;
    if (e.detail === 0 && document.activeElement !== button && button.form && button.form.contains(document.activeElement)) return; // Enter, in one of its fields
    e.preventDefault();
    said("The page just changed. Check it, then press again.");
  }, true);

  // came maps each part of the page to its HTML as the server sent it, before scripts and users changed it. Parts are the children of main and of the
  // elements marked as lists in it.
  const came = new WeakMap();
  const note = (list) => { for (const c of list.children) { came.set(c, c.outerHTML); if ("list" in c.dataset) note(c); } };
  const same = (a, b) => a.nodeType === b.nodeType && (a.nodeType === 1 ? (came.get(a) || a.outerHTML) === b.outerHTML : a.data === b.data);

  // carry copies which details are open from an old part to its replacement.
  const carry = (old, next) => {
    const open = [...old.querySelectorAll("details")].map((d) => d.open);
    next.querySelectorAll("details").forEach((d, i) => { if (open[i] !== undefined) d.open = open[i]; });
  };

  // keep preserves values, selections and the focus of the fields in main while exchange replaces parts of it. Fields are matched by their IDs.
  const keep = (exchange) => {
    const fields = [...main().querySelectorAll("input[id], textarea[id], select[id]")], at = document.activeElement;
    const [from, to] = at && at.selectionStart !== undefined ? [at.selectionStart, at.selectionEnd] : [];
    const changed = exchange();
    for (const field of fields) {
      const now = field.isConnected || field.type === "hidden" ? null : document.getElementById(field.id);
      if (!now) continue;
      if (field.type === "checkbox" || field.type === "radio") { if (field.checked !== field.defaultChecked) now.checked = field.checked; }
      else if (field.options ? [...field.options].some((o) => o.selected !== o.defaultSelected) : field.value !== field.defaultValue) now.value = field.value;
    }
    const back = at && at.id && !at.isConnected && document.getElementById(at.id);
    if (back) {
      back.focus();
      if (typeof from === "number" && back.setSelectionRange) back.setSelectionRange(from, to);
    }
    return changed;
  };

  // turn updates the parts of a list to those of a fresh one. Unchanged parts keep their elements.
  const turn = (list, fresh) => {
    let changed = false;
    const ids = new Set([...fresh.children].map((c) => c.id));
    for (const c of [...list.children]) if (c.id && !ids.has(c.id)) { c.remove(); changed = true; }
    let at = list.firstChild;
    for (const next of [...fresh.childNodes]) {
      const was = next.id ? [...list.children].find((c) => c.id === next.id) : at && !at.id && same(at, next) ? at : null;
      if (was && next.id) while (at && at !== was && !at.id) { const gone = at; at = at.nextSibling; gone.remove(); changed = true; }
      const html = next.outerHTML, equal = was && same(was, next);
      if (equal || was && "list" in was.dataset && "list" in next.dataset) {
        if (!equal) { changed = turn(was, next) || changed; came.set(was, html); }
        if (was === at) at = at.nextSibling; else list.insertBefore(was, at);
        continue;
      }
      const node = document.adoptNode(next);
      if (was) {
        carry(was, node);
        if (was === at) at = at.nextSibling;
        was.remove();
      }
      list.insertBefore(node, at);
      if (node.nodeType === 1) { came.set(node, html); if ("list" in node.dataset) note(node); streams(node); }
      changed = changed || node.nodeType === 1 || node.data.trim() !== "";
    }
    while (at) { const gone = at; at = at.nextSibling; gone.remove(); changed = true; }
    return changed;
  };

  // look fetches the page again and applies the changes.
  let looking = false, again = false;
  const look = async () => {
    if (looking) { again = true; return; }
    looking = true;
    do {
      again = false;
      try { await renew(); } catch { /* the server does not answer: the next event, timer or user action tries again */ }
      if (again) await new Promise((go) => setTimeout(go, 100));
    } while (again);
    looking = false;
  };
  const renew = async () => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin", signal: AbortSignal.timeout(15000) });
    if (answer.redirected) { location.assign(answer.url); return; }
    if (answer.status >= 500) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html"), content = fresh.getElementById("main");
    if (!content) { location.reload(); return; }
    if (keep(() => turn(main(), content))) { hold(); document.dispatchEvent(new Event("console:fresh")); }
    title(fresh.title);
    if (fresh.body.dataset.live) document.body.dataset.live = fresh.body.dataset.live; else delete document.body.dataset.live;
    clocks(); times();
  };

  // soon returns a function that calls what after ms milliseconds, once for all calls until then.
  const soon = (what, ms) => { let timer = 0; return () => { timer = timer || setTimeout(() => { timer = 0; what(); }, ms); }; };

  // plain removes terminal control sequences from program output.
  const plain = (text) => text.replace(/\x1b(\[[0-9;:?<=>!]*[ -\/]*[@-~]|\][^\x07\x1b]{0,2000}(\x07|\x1b\\))/g, "").replace(/\r\n?/g, "\n");

  // streams appends event data, a text or a list of lines, to blocks of text. Only the end of a long text is kept. A hidden page closes its streams, because
  // browsers limit the connections to a server.
  let open = [];
  const streams = (root) => root.querySelectorAll("[data-stream]").forEach((box) => {
    if (document.hidden || open.some((o) => o.box === box)) return;
    const source = new EventSource(box.dataset.stream);
    open = open.filter((o) => o.box.isConnected || o.source.close());
    open.push({ box, source });
    box.scrollTop = box.scrollHeight;
    source.addEventListener(box.dataset.event, (e) => {
      if (!box.isConnected) { source.close(); return; }
      const below = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
      const more = JSON.parse(e.data)[box.dataset.field] || "", code = box.firstChild;
      code.append(plain(Array.isArray(more) ? more.map((line) => line + "\n").join("") : more));
      while (code.childNodes.length > 1000) code.firstChild.remove();
      if (below) box.scrollTop = box.scrollHeight;
    });
  });
  const follow = () => {
    if (document.hidden) { open.forEach((o) => o.source.close()); return; }
    for (const { box } of open) for (let part = box; part && part !== main(); part = part.parentNode) if (came.has(part)) came.set(part, " ");
    if (open.length || lives().length) { open = []; look(); }
  };

  // clocks shows the time left until the deadline of each element with data-until.
  let ticking = 0;
  const clocks = () => {
    const all = [...document.querySelectorAll("[data-until]")];
    if (all.length && !ticking) ticking = setInterval(clocks, 1000);
    if (!all.length && ticking) { clearInterval(ticking); ticking = 0; }
    let over = false;
    for (const c of all) {
      const left = Math.round((Date.parse(c.dataset.until) - Date.now()) / 1000);
      const minutes = Math.floor(left / 60) % 60 + " min";
      c.textContent = left <= 0 ? "now" : "in " + (left >= 3600 ? Math.floor(left / 3600) + " h " + minutes : (left >= 60 ? minutes + " " : "") + left % 60 + " s");
      over = over || left === 0;
    }
    if (over && lives().length) look();
  };

  // times shows each time as the time from now; the server's text is absolute, and the title keeps the exact time.
  const unit = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "always" });
  const ago = (seconds) => {
    const [name, size] = unit.find(([, size]) => Math.abs(seconds) >= size) || [];
    return name ? relative.format(Math.trunc(seconds / size), name) : seconds > 0 ? "in less than a minute" : "just now";
  };
  const times = () => {
    for (const e of document.querySelectorAll("main time[datetime]:not([data-until])")) {
      const at = Date.parse(e.dateTime), text = isNaN(at) ? "" : ago((at - Date.now()) / 1000);
      if (text && e.textContent !== text) e.textContent = text;
    }
  };

  // waiting is the number of pending approvals. It is shown in the navigation, before the title and as a mark on the icon; an event tells other scripts.
  let waiting = 0, counted = false;
  const title = (text) => { document.title = (waiting > 0 ? "(" + waiting + ") " : "") + text.replace(/^\(\d+\) /, ""); };
  const count = async () => {
    try {
      const answer = await fetch("/approvals/count", { credentials: "same-origin" });
      if (!answer.ok || answer.redirected) return;
      const n = Number(await answer.text());
      document.querySelectorAll("[data-count=approvals]").forEach((s) => { s.textContent = n > 0 ? String(n) : ""; });
      if (n > waiting) said(n === 1 ? "1 pending approval" : n + " pending approvals", counted && !location.pathname.startsWith("/approvals"));
      waiting = n;
      counted = true;
      title(document.title);
      const icon = document.querySelector("link[rel=icon]"), mark = n > 0 ? "/assets/icon-waiting.svg" : "/assets/icon.svg";
      if (icon && icon.getAttribute("href") !== mark) icon.setAttribute("href", mark);
      document.documentElement.dataset.waiting = String(n);
      document.dispatchEvent(new Event("console:waiting"));
    } catch { /* as above */ }
  };

  // base lists the kinds of events that every page needs for the number of pending approvals. One page of this server listens for them
  // and tells the others, because browsers limit the connections to a server.
  const base = ["ai-tool-confirmation", "ai-tool-confirmation-closed", "ai-tool-state", "ai-tool-result"];
  const events = (kinds, topics, tell) => {
    let source, timer, over = false;
    const begin = () => {
      source = new EventSource("/api/v1/events?events=" + kinds.join(",") + (topics.length ? "&topics=" + topics.join(",") : ""));
      kinds.forEach((kind) => source.addEventListener(kind, () => tell(kind)));
      source.addEventListener("open", () => tell("open"));
      // The browser does not reconnect after a rejection: the page reloads, which may redirect to the login, and reconnects later.
      source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED && !over) timer = setTimeout(() => { tell("open"); begin(); }, 3000); });
    };
    begin();
    return { close: () => { over = true; clearTimeout(timer); source.close(); } };
  };
  const listen = (tell) => {
    const bus = navigator.locks && globalThis.BroadcastChannel ? new BroadcastChannel("countersign-events") : null;
    const head = () => new Promise((go) => {
      const source = events(base, [], (kind) => { tell(kind); if (bus) bus.postMessage(kind); });
      addEventListener("pagehide", () => { source.close(); go(); });
    });
    if (!bus) { head(); return; }
    bus.addEventListener("message", (e) => tell(e.data));
    navigator.locks.request("countersign-events", head).catch(() => {});
  };

  // topics maps further kinds of events to their topics. more listens for those that this page needs while it is visible.
  const topics = { "background-process-status": "processes", "run-progress": "runs" };
  let own = null;
  const more = (tell) => {
    const kinds = lives().filter((k) => k !== "tick" && !base.includes(k));
    if (own && (document.hidden || !kinds.length)) { own.close(); own = null; }
    if (!own && !document.hidden && kinds.length) own = events(kinds, kinds.map((k) => topics[k]).filter(Boolean), tell);
  };

  const begin = () => {
    note(main()); hold(); streams(document); clocks(); times(); count();
    setInterval(times, 20000);
    setInterval(() => { if (lives().includes("tick") && !document.hidden) look(); }, 1000);
    // An event or its reload can be lost with the connection, so a live page also reloads every 10 seconds.
    setInterval(() => { if (lives().length && !document.hidden) look(); }, 10000);
    const counts = soon(count, 50), looks = soon(look, 30);
    const tell = (kind) => {
      if (kind === "open" || base.includes(kind)) counts();
      if (lives().includes(kind) || kind === "open" && lives().length) looks();
    };
    listen(tell);
    more(tell);
    document.addEventListener("visibilitychange", () => { follow(); more(tell); });
  };
  if (document.querySelector(".top")) begin();
})();
