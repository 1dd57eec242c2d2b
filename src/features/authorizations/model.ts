import { type Static, Type } from "@sinclair/typebox";
import { At, Id, nullable } from "../../core/schema.ts";

/** The one thing that an agent can be granted: to use the tools as the user. */
export const SCOPE = "mcp:tools";

/** What an agent holds: a code once, then an access and a refresh token. */
export const TOKEN_KINDS = ["code", "access", "refresh"] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** What a user granted to an agent, as long as it holds. */
export const Authorization = Type.Object(
  {
    id: Id,
    agent_name: nullable(Type.String({ description: "As the agent calls itself; nobody has checked it" })),
    redirect_uri: Type.String({ description: "Where the grant was sent" }),
    scope: Type.Literal(SCOPE),
    created_at: At,
    updated_at: Type.String({ ...At, description: "When the agent was last given tokens" }),
    expires_at: Type.String({ ...At, description: "When it ends, unless the agent renews it before" }),
  },
  { title: "Authorization" },
);
export type Authorization = Static<typeof Authorization>;
