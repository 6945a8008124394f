// Starts the page: with the data in it, or, where there is none, live from the agent that serves
// it.
import { App } from "./app";
import { decodeEmbedded } from "./data/decode";
import { LiveSession } from "./live/session";
import { withoutToken } from "./live/token";

const data = document.getElementById("stackray-data");
const app = new App(data?.dataset["view"] ?? "");
document.body.append(app.shell.root);

// A file that is opened from a disk has none, and browsers refuse to change its address.
if (new URLSearchParams(location.search).has("token")) {
  history.replaceState(history.state, "", withoutToken(location.href));
}
if (data === null) {
  new LiveSession(app).start();
} else {
  const packed = data.textContent ?? "";
  data.remove();
  decodeEmbedded(packed).then((profile) => {
    app.setProfile(profile, { packed });
  }, (error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    app.showEmpty("This profile cannot be shown", reason);
  });
}
