// The agent's printed address carries a token, for which its answer has begun a session. It does
// not stay in the address, from where people copy links and which is seen on shared screens.
export function withoutToken(href: string): string {
  const url = new URL(href);
  url.searchParams.delete("token");
  return url.href;
}
