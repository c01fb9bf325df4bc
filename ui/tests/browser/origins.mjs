// What a page of another site can try, and must not get.

import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { Session } from "./session.mjs";
import { at, eventually, list, open, test, watched } from "./support.mjs";
import { layThree, NOTES } from "./traces.mjs";

/** Something that only the traces say. */
const SECRET = "desk-assistant";

await test(async (bench) => {
  await layThree(bench);
  const server = await bench.view();
  const evil = await otherSite();
  const page = await bench.page();

  await bench.check("the token leaves the address at once, and no request names it", async () => {
    const named = [];
    page.on("request", (request) => {
      const { referer = "" } = request.headers();
      if (request.url().includes(server.token) || referer.includes(server.token)) named.push(request.url());
    });
    await page.goto(server.address(`?trace=${NOTES}`, "view=calls"));
    await list(page, "Calls").waitFor();
    await at(page, /#view=calls$/);
    assert.equal(await page.evaluate(() => document.referrer), "");
    await page.goBack().catch(() => undefined);
    assert.ok(!page.url().includes(server.token), "going back doesn't show it either");
    assert.deepEqual(named, []);
    page.quiet();
  });

  await bench.check("the address of another run is taken in, even where only the fragment differs", async () => {
    const other = await bench.page();
    other.expectTrouble(/status of 401/);
    await other.goto(`${server.base}#token=00000000000000000000000000000000`);
    await other.getByRole("heading", { name: /belongs to another run/ }).waitFor();
    await other.goto(server.address());
    await list(other, "Traces").waitFor();
    assert.ok(!other.url().includes(server.token));
    other.quiet();
  });

  const context = await bench.context();
  const stranger = watched(await context.newPage());
  // What is refused is an error in the console of the page that tried.
  stranger.expectTrouble(/./);
  await stranger.goto(`${evil.base}index.html`);
  const tries = (script, ...args) => stranger.evaluate(script, [server.base, server.token, ...args]);

  await bench.check("fetch from another origin gets nothing, in any way", async () => {
    const got = await tries(async ([base, token]) => {
      const outcomes = {};
      const ask = async (name, path, init) => {
        try {
          const response = await fetch(base + path, init);
          outcomes[name] = { type: response.type, text: await response.text() };
        } catch (error) {
          outcomes[name] = { type: "refused", text: String(error) };
        }
      };
      const headers = { Authorization: `Bearer ${token}` };
      await ask("plain", "api/home", {});
      await ask("with credentials", "api/home", { credentials: "include" });
      await ask("with the token", "api/home", { headers });
      await ask("no-cors", "api/home", { mode: "no-cors" });
      await ask("no-cors page", "", { mode: "no-cors" });
      await ask("post", "api/upload?name=x", { method: "POST", body: "x" });
      await ask("no-cors post", "api/live", { method: "POST", mode: "no-cors", body: '{"url":"ws://127.0.0.1:1/"}' });
      await ask("page", "", {});
      await ask("script", "app.js", {});
      return outcomes;
    });
    for (const [name, { type, text }] of Object.entries(got)) {
      assert.ok(type === "refused" || type === "opaque", `${name}: ${type}`);
      assert.ok(!text.includes(SECRET), `${name}: ${text}`);
      if (type === "opaque") assert.equal(text, "", name);
    }
  });

  await bench.check("a form of another origin changes nothing", async () => {
    const posted = stranger.waitForResponse((response) => response.url().includes("/api/upload"));
    await tries(([base]) => {
      const form = Object.assign(document.createElement("form"), { method: "post", action: `${base}api/upload?name=x`, enctype: "text/plain" });
      form.append(Object.assign(document.createElement("input"), { name: "x", value: "y" }));
      document.body.append(form);
      form.submit();
    });
    assert.equal((await posted).status(), 403);
    await stranger.waitForURL(/api\/upload/);
    await stranger.goto(`${evil.base}index.html`);
  });

  await bench.check("events, images, scripts and styles of the server stay with it", async () => {
    const got = await tries(async ([base, token]) => {
      const loads = (element, property, address) =>
        new Promise((resolve) => {
          element.onload = () => resolve("loaded");
          element.onerror = () => resolve("refused");
          element[property] = address;
          document.body.append(element);
        });
      const events = await new Promise((resolve) => {
        const source = new EventSource(`${base}api/watch?token=${token}`);
        source.onmessage = () => resolve("loaded");
        source.onerror = () => resolve("refused");
      });
      const style = Object.assign(document.createElement("link"), { rel: "stylesheet" });
      return {
        events,
        image: await loads(new Image(), "src", `${base}api/home`),
        script: await loads(document.createElement("script"), "src", `${base}app.js`),
        api: await loads(document.createElement("script"), "src", `${base}api/home`),
        style: await loads(style, "href", `${base}app.css`),
      };
    });
    for (const [name, outcome] of Object.entries(got)) assert.equal(outcome, "refused", name);
  });

  await bench.check("the page can't be framed", async () => {
    await tries(([base, token]) => {
      const frame = document.createElement("iframe");
      frame.src = `${base}#token=${token}`;
      document.body.append(frame);
    });
    await eventually("the frame has failed", () => stranger.frames().some((frame) => frame.url().startsWith("chrome-error:")));
    for (const frame of stranger.frames().slice(1)) {
      const text = await frame.evaluate(() => document.body?.innerText ?? "").catch(() => "");
      assert.ok(!text.includes("Wiretape"), text);
    }
  });

  await bench.check("a window that was opened can't be read, nor does it know who opened it", async () => {
    const opened = context.waitForEvent("page");
    await tries(([base, token]) => {
      window.theirs = window.open(`${base}#token=${token}`);
    });
    const theirs = await opened;
    await list(theirs, "Traces").waitFor();
    assert.equal(await theirs.evaluate(() => window.opener), null);
    const got = await stranger.evaluate(() => {
      try {
        return `${window.theirs.closed} ${window.theirs.document.body.innerText}`;
      } catch (error) {
        return error.name;
      }
    });
    assert.ok(!got.includes("traces"), got);
    await theirs.close();
  });

  await bench.check("the recorder's socket is closed to pages of other origins", async () => {
    const session = new Session(bench, "served", ["--serve"]);
    const [, address] = await session.program.prints(/(ws:\/\/\S+)/);
    await session.greet();
    const bare = new URL("/", address).href;
    const got = await tries(
      async ([, , addresses]) =>
        Promise.all(
          addresses.map(
            (address) =>
              new Promise((resolve) => {
                const socket = new WebSocket(address);
                socket.onmessage = ({ data }) => resolve(`told: ${data}`);
                socket.onerror = () => resolve("refused");
              }),
          ),
        ),
      [bare, `${bare}?token=x`, `${bare}00000000000000000000000000000000`],
    );
    assert.deepEqual(got, ["refused", "refused", "refused"]);
    await session.end();
  });

  await bench.check("a name that was rebound to this machine is refused", async () => {
    const { port } = new URL(server.base);
    const authorization = { Authorization: `Bearer ${server.token}` };
    for (const host of ["evil.example", `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, "127.0.0.1", "[::1]:1", ""]) {
      for (const path of ["/", "/app.js", "/api/home"]) {
        const { status, body } = await ask(port, path, { Host: host, ...authorization });
        assert.ok(status === 421 || status === 400, `${host}${path}: ${status}`);
        assert.ok(!body.includes(SECRET));
      }
    }
  });

  await bench.check("another origin is refused, even with the token", async () => {
    const { port, host } = new URL(server.base);
    const headers = { Host: host, Authorization: `Bearer ${server.token}` };
    for (const origin of [evil.base.slice(0, -1), "null", "https://evil.example", `https://${host}`]) {
      const { status, body } = await ask(port, "/api/home", { ...headers, Origin: origin });
      assert.equal(status, 403, origin);
      assert.ok(!body.includes(SECRET));
    }
    assert.equal((await ask(port, "/api/home", headers)).status, 200);
    assert.equal((await ask(port, "/api/home", { Host: host })).status, 401);
  });

  await bench.check("the page keeps itself to itself: its policy", async () => {
    const { port, host } = new URL(server.base);
    const { headers } = await ask(port, "/", { Host: host });
    const policy = headers["content-security-policy"];
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"]) {
      assert.ok(policy.includes(part), `${part} is not in ${policy}`);
    }
    assert.ok(!/unsafe|\*/.test(policy), policy);
    assert.equal(headers["referrer-policy"], "no-referrer");
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["access-control-allow-origin"], undefined);
  });

  await bench.check("a trace of another origin is fetched only by https, or from this server", async () => {
    await open(page, server, `?trace=${encodeURIComponent(`${evil.base}trace.jsonl`)}`);
    await page.getByRole("alert").getByText(/only https addresses are/).waitFor();
    assert.ok(!evil.asked.includes("/trace.jsonl"), "nothing was asked");
    page.quiet();
  });

  evil.close();
});

/** A small site on another port, which is another origin. */
async function otherSite() {
  const asked = [];
  const site = createServer((request, response) => {
    asked.push(request.url);
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>another site</title><link rel=icon href='data:,'><body>");
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  const close = () => {
    site.closeAllConnections();
    site.close();
  };
  return { base: `http://127.0.0.1:${site.address().port}/`, asked, close };
}

/** Asks with headers that no browser would send. */
function ask(port, path, headers) {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, headers, setHost: false }, (response) => {
      let body = "";
      response.on("data", (data) => (body += data));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    sent.on("error", reject);
    sent.end();
  });
}
