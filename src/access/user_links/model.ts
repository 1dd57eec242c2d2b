import { Type } from "@sinclair/typebox";
import { At, Id, strict } from "../../core/schema.ts";
import { Password } from "../users/model.ts";

/** A link by which a user chooses a password, once. */
export const UserLink = Type.Object(
  {
    url: Type.String({ description: "The page for it in the console; whoever has it becomes the user" }),
    token: Type.String({ description: "What is behind the # of the url" }),
    expires_at: At,
  },
  { title: "UserLink" },
);

const Token = Type.String({ minLength: 1, maxLength: 200 });

export const ReadUserLink = strict({ token: Token }, { title: "ReadUserLink" });

/** Whose link it is. */
export const UserLinkHolder = Type.Object(
  { email: Type.String(), company_id: Id, company_name: Type.String(), expires_at: At },
  { title: "UserLinkHolder" },
);

export const AcceptUserLink = strict({ token: Token, new_password: Password }, { title: "AcceptUserLink" });
