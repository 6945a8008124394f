// From the text of the data script to a profile.
// Input: base64 of gzip of JSON, from our own writer or a damaged file. Errors: ProfileError.
import { parseProfile, Profile, ProfileError } from "./profile";

// A small file can unpack to something enormous; a page of this size could not be shown anyway.
const MAX_JSON_BYTES = 512 * 1024 * 1024;

export function fromBase64(encoded: string): Uint8Array<ArrayBuffer> {
  let binary: string;
  try {
    binary = atob(encoded.trim());
  } catch {
    throw new ProfileError("the data in this file is not base64; was the file cut or edited?");
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.byteLength;
      if (size > MAX_JSON_BYTES) break;
      parts.push(decoder.decode(value, { stream: true }));
    }
  } catch {
    throw new ProfileError("the compressed data in this file is damaged; was the file cut?");
  }
  if (size > MAX_JSON_BYTES) throw new ProfileError("the data is too large for a browser page");
  parts.push(decoder.decode());
  return parts.join("");
}

export function parseText(json: string): Profile {
  let document: unknown;
  try {
    document = JSON.parse(json);
  } catch {
    throw new ProfileError("the data is not valid JSON");
  }
  return parseProfile(document);
}

export async function decodeEmbedded(encoded: string): Promise<Profile> {
  return parseText(await gunzip(fromBase64(encoded)));
}
