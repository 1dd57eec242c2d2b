import { Type } from "@sinclair/typebox";
import { Client } from "../../tenancy/clients/model.ts";
import { Subscription } from "../subscriptions/model.ts";

/** A client with its subscriptions, ended ones too. */
export const ClientDetail = Type.Object(
  { ...Client.properties, subscriptions: Type.Array(Subscription) },
  { title: "ClientDetail" },
);
