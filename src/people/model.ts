import { type Static, Type } from "@sinclair/typebox";
import { At, Email, Id, nullable, oneOf, pageFields, sortedBy, strict } from "../core/schema.ts";

export const SUBJECT_KINDS = ["user", "client", "customer", "application"] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

/** Who is erased: a user, a client with its users, a customer of mandates, or the borrower of a loan application. */
export const Subject = Type.Object({ kind: oneOf(SUBJECT_KINDS), id: Id }, { title: "PersonSubject" });
export type Subject = Static<typeof Subject>;

/** Whom to look for, by one of these; an email is that of all users, customers and borrowers who have it. */
export const FindPerson = strict(
  {
    user_id: Type.Optional(Id),
    client_id: Type.Optional(Id),
    customer_id: Type.Optional(Id),
    application_id: Type.Optional(Id),
    email: Type.Optional(Email),
  },
  { title: "FindPerson" },
);
export type FindPerson = Static<typeof FindPerson>;

/** What an erasure would take from one record of a person, and what stands in its way. */
export const PersonPreview = Type.Object(
  {
    ...Subject.properties,
    records: Type.Record(Type.String(), Type.Integer(), {
      description: "how many records of each table hang on it, such as mandates and loan_documents",
    }),
    blocked: nullable(Type.String({ description: "why it can't be erased now" })),
    kept: nullable(Type.String({ description: "what stays for now, and how long" })),
  },
  { title: "PersonPreview" },
);
export type PersonPreview = Static<typeof PersonPreview>;

/** Everybody whom an erasure would be about. */
export const PersonPreviews = Type.Object(
  { subjects: Type.Array(PersonPreview) },
  { title: "PersonPreviews" },
);

/** An erasure of people. It has ids only, never what was erased. */
export const PersonErasure = Type.Object(
  {
    id: Id,
    status: oneOf(["pending", "done"]),
    subjects: Type.Array(Subject),
    records: Type.Integer({ description: "records that lost what they said of them, deleted ones included" }),
    created_at: At,
    finished_at: nullable(At),
  },
  { title: "PersonErasure" },
);
export type PersonErasure = Static<typeof PersonErasure>;

export const ListPersonErasures = strict({ sort: sortedBy(["id", "created_at"]), ...pageFields });
