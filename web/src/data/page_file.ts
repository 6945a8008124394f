// The page with its data, as one file: this very page's template, and the document that it shows.
import { gzipBase64 } from "./encode";

// The document as it came: packed already, or as JSON.
export type Original = { packed: string } | { json: string };

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// In two parts, because this text stands in a script, which its own end tag would end.
const TAG = ["scr", "ipt"].join("");

// Scripts and style stand as they are: the policy in the head knows them by their hashes.
// `view`: what it opens with, in the words of an address; "": the start.
export async function pageFile(original: Original, title: string, view: string): Promise<string> {
  const packed = "packed" in original ? original.packed.trim() : await gzipBase64(original.json);
  const policy = document.querySelector<HTMLMetaElement>("meta[http-equiv]")!.content;
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]")!.getAttribute("href")!;
  const style = document.querySelector("style")!.textContent!;
  const script = document.querySelector("script:not([type])")!.textContent!;
  const attribute = (text: string) => escapeHtml(text).replaceAll('"', "&quot;");
  const opening = view === "" ? "" : ` data-view="${attribute(view)}"`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${attribute(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${attribute(icon)}">
<style>${style}</style>
</head>
<body>
<noscript>This page needs JavaScript to draw the profile. It makes no request to any other place.</noscript>
<${TAG} type="application/octet-stream" id="stackray-data"${opening}>${packed}</${TAG}>
<${TAG}>${script}</${TAG}>
</body>
</html>
`;
}
