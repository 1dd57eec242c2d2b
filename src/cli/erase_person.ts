import { type Static, Type } from "@sinclair/typebox";
import { call } from "../app/operation.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { Id, strict } from "../core/schema.ts";
import { decode } from "../core/validate.ts";
import { FindPerson, PersonErasure, PersonPreview } from "../people/model.ts";
import { erasePerson, previewPersonErasure } from "../people/service.ts";
import { action } from "../server/operator/action.ts";
import { type Arguments, commandContext, optional, printTable, requiredId } from "./command.ts";
import { perform } from "./perform.ts";

const Request = strict({ company_id: Id, find: Type.Unsafe<Static<typeof FindPerson>>(FindPerson) });

export const previewPersonAction = action({
  name: "preview_person_erasure",
  input: Request,
  output: Type.Object({ subjects: Type.Array(PersonPreview) }),
  opens: { without_usage: true },
  run: (deps, { company_id, find }) => call(commandContext(deps, company_id), previewPersonErasure, find),
});

export const erasePersonAction = action({
  name: "erase_person",
  input: Request,
  output: PersonErasure,
  opens: { without_usage: true },
  run: (deps, { company_id, find }) => call(commandContext(deps, company_id), erasePerson, find),
});

/** The words that say who, and the field of each. */
const WHO = {
  user: "user_id",
  client: "client_id",
  customer: "customer_id",
  application: "application_id",
} as const;

export const PERSON_OPTIONS = {
  user: { type: "string" },
  client: { type: "string" },
  customer: { type: "string" },
  application: { type: "string" },
  email: { type: "string" },
  yes: { type: "boolean" },
} as const;

export const PERSON_HELP = `erase person shows what it would erase; with --yes it does. Beside a running server, which then does it:
  --user ID            a user, deleted ones included
  --client ID          a client and its users
  --customer ID        a customer of mandates
  --application ID     the borrower of a loan application
  --email EMAIL        all users, customers and borrowers who have it
  --yes                erase: it can't be undone`;

/** Previews the erasure of a person, and with `--yes` asks for it. */
export async function erasePersonByWords(words: Arguments): Promise<void> {
  const company_id = requiredId(words, "company");
  const email = optional(words, "email");
  const given = Object.entries(WHO).filter(([word]) => words.values[word] !== undefined);
  if (given.length + (email === undefined ? 0 : 1) !== 1)
    throw wrongWords("Say who: one of --user, --client, --customer, --application, --email");
  const ids = Object.fromEntries(given.map(([word, field]) => [field, requiredId(words, word)]));
  const find = decode(FindPerson, { ...ids, ...(email === undefined ? {} : { email }) });
  if (words.values["yes"] !== true) {
    const { subjects } = await perform(words, previewPersonAction, { company_id, find });
    return show(subjects);
  }
  const { id, records } = await perform(words, erasePersonAction, { company_id, find });
  console.log(
    `Erasure ${id}: ${records} records erased. The server does the rest within seconds, or when it starts`,
  );
}

function show(subjects: readonly PersonPreview[]): void {
  const rows = subjects.map(({ kind, id, records, blocked, kept }) => ({
    who: `${kind} ${id}`,
    records: Object.entries(records)
      .filter(([, count]) => count > 0)
      .map(([table, count]) => `${count} ${table}`)
      .join(", "),
    blocked: blocked ?? "",
    kept: kept ?? "",
  }));
  printTable(rows, ["who", "records", "blocked", "kept"]);
  console.log("Nothing is erased yet: say --yes");
}
