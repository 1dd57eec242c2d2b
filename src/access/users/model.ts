import { type Static, Type } from "@sinclair/typebox";
import { ROLES } from "../../core/access.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import {
  At,
  Email,
  Id,
  Name,
  nullable,
  oneOf,
  pageFields,
  Search,
  strict,
  sortedBy,
} from "../../core/schema.ts";

const { password_length_min, password_length_max } = SHARED_LIMITS;

export const Password = Type.String({
  minLength: password_length_min,
  maxLength: password_length_max,
  description: `${password_length_min} to ${password_length_max} characters`,
});

const RoleName = oneOf(ROLES);

export const User = Type.Object(
  {
    id: Id,
    email: Type.String(),
    name: nullable(Type.String()),
    role: RoleName,
    company_id: Id,
    client_id: nullable(Id),
    created_at: At,
    updated_at: At,
  },
  { title: "User" },
);
export type User = Static<typeof User>;

export const ListUsers = strict({
  search: Type.Optional(Search),
  sort: sortedBy(["id", "email", "created_at"]),
  ...pageFields,
});

const name = Type.Optional(nullable(Name));
const clientId = Type.Optional(nullable(Id));

export const CreateUser = strict(
  { email: Email, name, password: Type.Optional(Password), role: RoleName, client_id: clientId },
  { title: "CreateUser" },
);

/** A full replacement; omitted names and passwords stay. */
export const UpdateUser = strict(
  { id: Id, email: Email, name, role: RoleName, client_id: clientId, password: Type.Optional(Password) },
  { title: "UserChange" },
);
