// What threads of a document worked on: traces, spans and labels, each with a name and a text.
import { Profile } from "../data/profile";

export class ThreadLabels {
  readonly names: string[]; // sorted

  constructor(private readonly profile: Profile) {
    const { labels, strings } = profile;
    const names = new Set<string>();
    for (let i = 1; i < labels.key.length; i++) names.add(strings[labels.key[i]!]!);
    this.names = [...names].sort();
  }

  // "": it has none of that name.
  text(thread: number, name: string): string {
    const { labels, strings, threads } = this.profile;
    for (let at = threads.labels[thread]!; at > 0; at = labels.next[at]!) {
      if (strings[labels.key[at]!] === name) return strings[labels.text[at]!]!;
    }
    return "";
  }

  // `request`: NAME=TEXT (requests.ts).
  has(thread: number, request: string): boolean {
    const equals = request.indexOf("=");
    const [name, wanted] = [request.slice(0, equals), request.slice(equals + 1)];
    const { labels, strings, threads } = this.profile;
    for (let at = threads.labels[thread]!; at > 0; at = labels.next[at]!) {
      if (strings[labels.key[at]!] === name && strings[labels.text[at]!] === wanted) return true;
    }
    return false;
  }
}
