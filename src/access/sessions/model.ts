import { Type } from "@sinclair/typebox";
import { PERMISSIONS } from "../../core/access.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { At, Email, Id, oneOf, strict } from "../../core/schema.ts";
import { Password, User } from "../users/model.ts";

// Signing in takes any password: the rules are for new ones, and naming them here would help guessing.
const AnyPassword = Type.String({ minLength: 1, maxLength: SHARED_LIMITS.password_length_max });

export const Login = strict(
  {
    email: Email,
    password: AnyPassword,
    company_id: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        description: "For one email and password in several companies; default: the oldest account",
      }),
    ),
  },
  { title: "Login" },
);

export const LoginResponse = Type.Object(
  { type: Type.Literal("bearer"), token: Type.String(), expiresAt: At },
  { title: "LoginResponse" },
);

export const Me = Type.Object(
  {
    ...User.properties,
    permissions: Type.Array(oneOf(PERMISSIONS)),
    timezone: Type.String({ description: "The company's, in which its days and months begin" }),
    company: Type.Object({ id: Id, name: Type.String(), timezone: Type.String(), currency: Type.String() }),
  },
  { title: "Me" },
);

export const ChangePassword = strict(
  { current_password: AnyPassword, new_password: Password },
  { title: "ChangePassword" },
);
