import { Type } from "@sinclair/typebox";
import { ENVIRONMENTS, KEY_ROLES, PERMISSIONS, ROLES } from "../../core/access.ts";
import { At, Id, nullable, oneOf } from "../../core/schema.ts";

const Named = Type.Object({ id: Id, name: Type.String() });

/** How a caller got in. */
const CREDENTIALS = ["user_token", "browser_session", "api_key", "oauth_grant"] as const;

/** Who a call is made for, and what the answers to its questions are measured in. */
export const Whoami = Type.Object(
  {
    credential: oneOf(CREDENTIALS),
    role: oneOf([...ROLES, ...KEY_ROLES]),
    permissions: Type.Array(oneOf(PERMISSIONS)),
    user: nullable(
      Type.Object(
        { id: Id, email: Type.String(), name: nullable(Type.String()) },
        { description: "null for an API key" },
      ),
    ),
    api_key: nullable(Type.Object({ ...Named.properties }, { description: "null for a user" })),
    agent: nullable(
      Type.Object(
        {
          authorization_id: Id,
          name: nullable(Type.String({ description: "As it calls itself; not verified" })),
        },
        { description: "The OAuth client that acts for the user, with credential oauth_grant" },
      ),
    ),
    company: Named,
    client: nullable(Type.Object({ ...Named.properties }, { description: "Of the role client" })),
    environment: nullable(oneOf(ENVIRONMENTS, "the one that an API key is for")),
    timezone: Type.String({ description: "The company's, in which its days and months begin" }),
    currency: Type.String({ description: "The company's" }),
    now: At,
    local_now: Type.String({
      description: "now in the company's time zone, with its offset",
      "x-schema": { type: "string", format: "date-time" },
    }),
  },
  { title: "Whoami" },
);
