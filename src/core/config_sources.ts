import { readFileSync } from "node:fs";
import { errorCode } from "./error_code.ts";
import { hint } from "./nearest.ts";

/** The text of a setting, and where it comes from, for people. */
export interface GivenSetting {
  text: string;
  source: string;
}

/** What the environment and the files that it names give; `problems` name what can't be used. */
export interface GivenSettings {
  given: ReadonlyMap<string, GivenSetting>;
  problems: string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The variable that `--config` sets. */
export const CONFIG_FILE = "CONFIG_FILE";

/**
 * Finds the texts of settings: in the environment, else in the file that CONFIG_FILE names, which is TOML with the names
 * in lower case. A secret may stand in a file of its own, which NAME_FILE names.
 */
export function findSettings(
  environment: Environment,
  names: readonly string[],
  secrets: ReadonlySet<string>,
): GivenSettings {
  const problems: string[] = [];
  const given = new Map<string, GivenSetting>();
  const path = environment[CONFIG_FILE] ?? "";
  const file = path === "" ? {} : readToml(path, problems);
  const known = new Set(names);
  const fileNameOf = (name: string) => (secrets.has(name) ? `${name}_FILE` : null);
  for (const name of names) {
    const places = [
      { values: environment, suffix: "", where: "environment", spell: (text: string) => text },
      { values: file, suffix: ` in ${path}`, where: path, spell: (text: string) => text.toLowerCase() },
    ];
    for (const { values, suffix, where, spell } of places) {
      const text = values[spell(name)] ?? "";
      const file_name = fileNameOf(name);
      const secret_path = file_name === null ? "" : (values[spell(file_name)] ?? "");
      if (text !== "" && secret_path !== "")
        problems.push(`${spell(name)} and ${spell(`${name}_FILE`)} must not both be set${suffix}`);
      if (text !== "") given.set(name, { text, source: where });
      else if (secret_path !== "") readSecret(name, secret_path, { given, problems });
      if (given.has(name)) break;
    }
  }
  const keys = names.flatMap((name) => [name, fileNameOf(name) ?? name]).map((name) => name.toLowerCase());
  for (const key of Object.keys(file)) {
    if (!keys.includes(key)) problems.push(`${path} has the unknown key ${key}${hint(key, keys)}`);
  }
  for (const name of Object.keys(environment)) {
    if (!name.startsWith("METERHOUSE_")) continue;
    const plain = name.slice("METERHOUSE_".length);
    const meant = known.has(plain) ? ` (did you mean ${plain}?)` : hint(plain, names);
    problems.push(`${name} is not a setting (settings have no prefix)${meant}`);
  }
  return { given, problems };
}

/** A trailing end of line is the editor's, not the secret's. */
function readSecret(
  name: string,
  path: string,
  { given, problems }: { given: Map<string, GivenSetting>; problems: string[] },
): void {
  try {
    given.set(name, { text: readFileSync(path, "utf8").replace(/\r?\n$/, ""), source: path });
  } catch (error) {
    problems.push(`${name}_FILE ${path} can't be read: ${errorCode(error) ?? String(error)}`);
  }
}

/** The keys of a file, and their values as the environment would have them. */
function readToml(path: string, problems: string[]): Record<string, string> {
  // Without a prototype, so that a key of any name is one.
  const values: Record<string, string> = Object.create(null);
  try {
    for (const [key, value] of Object.entries(Bun.TOML.parse(readFileSync(path, "utf8")))) {
      if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
        values[key] = String(value);
      else problems.push(`${key} in ${path} must be a text, a number, true or false`);
    }
  } catch (error) {
    const code = errorCode(error);
    // The parser quotes what it stumbles over, which may be a secret.
    const reason =
      code ?? (error instanceof Error ? error.message.replace(/(:? ")[^]*/, "") : "it is no TOML");
    problems.push(`the configuration ${path} can't be read: ${reason}`);
  }
  return values;
}
