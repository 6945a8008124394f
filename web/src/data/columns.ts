// Reads tables of unchecked JSON. Errors: ProfileError with a sentence for the user.

export class ProfileError extends Error {}

export type Json = Record<string, unknown>;

export function asObject(value: unknown, what: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ProfileError(`“${what}” is missing or not an object`);
  }
  return value as Json;
}

export function asArray(table: Json, what: string, key: string, length?: number): unknown[] {
  const value = table[key];
  if (!Array.isArray(value)) throw new ProfileError(`“${what}.${key}” is missing or not a list`);
  if (length !== undefined && value.length !== length) {
    throw new ProfileError(`“${what}.${key}” has ${value.length} entries instead of ${length}`);
  }
  return value;
}

// A column of whole numbers in [low, high).
export function column(table: Json, what: string, key: string, low: number, high: number,
                       length?: number): Int32Array {
  const values = asArray(table, what, key, length);
  const result = new Int32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (typeof value !== "number" || !Number.isInteger(value) || value < low || value >= high) {
      throw new ProfileError(`“${what}.${key}” entry ${i} is out of range`);
    }
    result[i] = value;
  }
  return result;
}

export function number(document: Json, key: string, fallback: number): number {
  const value = document[key];
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : fallback;
}

export function text(document: Json, key: string): string {
  const value = document[key];
  return typeof value === "string" ? value : "";
}
