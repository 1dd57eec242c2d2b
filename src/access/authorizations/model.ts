import { type Static, Type } from "@sinclair/typebox";
import { At, Id, nullable, pageFields, strict } from "../../core/schema.ts";

/** A user's permission for an OAuth client to act as that user. */
export const Authorization = Type.Object(
  {
    id: Id,
    agent_name: nullable(Type.String({ description: "As the client calls itself; not verified" })),
    redirect_uri: Type.String({ description: "Where the grant was sent" }),
    scope: Type.String({ description: "mcp:tools for all tools, or scopes of toolsets with spaces between" }),
    created_at: At,
    updated_at: Type.String({ ...At, description: "When the client was last given tokens" }),
    expires_at: Type.String({ ...At, description: "When it ends, unless the client renews it before" }),
  },
  { title: "Authorization" },
);
export type Authorization = Static<typeof Authorization>;

export const ListAuthorizations = strict(pageFields);
