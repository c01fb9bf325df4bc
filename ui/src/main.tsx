import { render } from "preact";
import { takeToken } from "./api/token";
import { App } from "./app";
import { startKeys } from "./keys";
import { startRouter } from "./router";
import { backend } from "./state/backend";
import { startSet } from "./state/set";
import { startTheme } from "./state/theme";
import "./style/base.css";
import "./style/shell.css";
import "./style/lists.css";
import "./style/timeline.css";
import "./style/call.css";
import "./style/charts.css";
import "./style/json.css";

takeToken();
// Pasting the address of a new run into this page changes only the fragment, which loads nothing by itself.
window.addEventListener("hashchange", () => {
  if (/[#&]token=/.test(location.hash)) location.reload();
});
startTheme();
startRouter(backend.isReport);
startSet();
startKeys();

const place = document.getElementById("app");
if (place !== null) render(<App />, place);
