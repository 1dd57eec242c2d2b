import { Type } from "@sinclair/typebox";
import { At, Id, nullable, pageFields, strict } from "../../core/schema.ts";
import { Login, Me } from "../sessions/model.ts";

/** A browser in which a user is signed in. */
export const BrowserSession = Type.Object(
  {
    id: Id,
    address: nullable(Type.String({ description: "The network address that it signed in from" })),
    user_agent: nullable(Type.String({ description: "As the browser calls itself; not verified" })),
    created_at: At,
    last_used_at: Type.String({ ...At, description: "Up to five minutes behind" }),
    expires_at: Type.String({ ...At, description: "When it ends, if it is not used before" }),
    is_current: Type.Boolean({ description: "Whether this request came with it" }),
  },
  { title: "BrowserSession" },
);

export const ListBrowserSessions = strict(pageFields);

/** A sign-in, with the browser's User-Agent header. */
export const OpenBrowserSession = strict({
  ...Login.properties,
  user_agent: nullable(Type.String()),
});

/** A new session. Its token is in no answer but the cookie. */
export const OpenedBrowserSession = Type.Object({ token: Type.String(), me: Me });
