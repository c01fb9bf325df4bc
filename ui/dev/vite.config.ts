// For `npm run dev`: the page with a made-up server, or with a running `wiretape view` (WIRETAPE_UI_SERVER=http://127.0.0.1:PORT).

import { defineConfig, type ProxyOptions } from "vite";
import { mock } from "./mock";

const server = process.env["WIRETAPE_UI_SERVER"];

// The server answers only to its own page: what goes to it must look as if it came from there.
function toServer(target: string): ProxyOptions {
  return {
    target,
    changeOrigin: true,
    configure: (proxy) => proxy.on("proxyReq", (request) => request.setHeader("origin", target)),
  };
}

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: server === undefined ? [mock()] : [],
  server: { host: "127.0.0.1", proxy: server === undefined ? {} : { "/api": toServer(server) } },
});
