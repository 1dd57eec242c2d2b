import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, oneOf } from "../../core/schema.ts";
import { decode } from "../../core/validate.ts";
import { data, dataOf } from "../../http/responses.ts";
import { page, rejectUnused } from "../../mcp/params.ts";
import { finder } from "../../mcp/shapes.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { definition_id, loanTool } from "../tools.ts";
import { ConsentDefinition } from "./model.ts";
import {
  createConsentDefinition,
  createConsentDefinitionVersion,
  getConsentDefinition,
  listConsentDefinitions,
  publishConsentDefinition,
  retireConsentDefinition,
  updateConsentDefinition,
} from "./service.ts";

const DEFINITION_DETAILS = ["environment", "text_sha256", "purpose_text", "data_text", "data_categories"];

const findDefinitions = loanTool({
  name: "loan_find_consent_definitions",
  title: "Find consent definitions",
  description:
    "Lists the texts that borrowers are asked to consent to, or one by id. Only a published one can be consented to; detailed adds the texts.",
  ...finder("definition_id", listConsentDefinitions, getConsentDefinition),
  order: "other",
  details: DEFINITION_DETAILS,
  input: {
    definition_id: Type.Optional(definition_id),
    code: describe(listConsentDefinitions.input.properties.code, "All versions of one code"),
    status: describe(listConsentDefinitions.input.properties.status, "Only in this state"),
    ...page,
  },
});

const text = updateConsentDefinition.input.properties;

const createDefinition = loanTool({
  name: "loan_create_consent_definition",
  title: "Create a consent definition",
  description:
    "Creates a text for borrowers to consent to, as a draft. A next version keeps the fields left out; a new definition needs all but locale and days. Then loan_publish_consent_definition.",
  operations: [createConsentDefinition, createConsentDefinitionVersion],
  takes_request_id: true,
  details: DEFINITION_DETAILS,
  input: {
    definition_id: Type.Optional(describe(Id, "Creates the next version of this one")),
    code: describe(text.code, "Not for a next version"),
    locale: describe(text.locale, "Default: en; not for a next version"),
    title: Type.Optional(describe(text.title, "Heading")),
    purpose_text: Type.Optional(describe(text.purpose_text, "What the data is used for")),
    data_text: Type.Optional(describe(text.data_text, "Which data")),
    data_categories: Type.Optional(describe(text.data_categories, "One word each")),
    audience: Type.Optional(describe(text.audience, "Who receives it")),
    data_life_days: describe(text.data_life_days, "How long it is kept"),
    validity_days: describe(text.validity_days, "How long a consent is valid"),
  },
  output: dataOf(ConsentDefinition),
  async run(ctx, { definition_id: id, ...input }) {
    if (id === undefined)
      return data(call(ctx, createConsentDefinition, decode(createConsentDefinition.input, input)));
    const { code, locale, ...changed } = input;
    rejectUnused("a next version", { code, locale });
    return data(call(ctx, createConsentDefinitionVersion, { id, ...changed }));
  },
});

const PUBLISHING = { publish: publishConsentDefinition, retire: retireConsentDefinition };

const publishDefinition = loanTool({
  name: "loan_publish_consent_definition",
  title: "Publish or retire a consent definition",
  description:
    "publish fixes a draft's text for good and retires the version before it, whose consents no longer count for a submission. retire ends a published one. Ask the person first.",
  operations: Object.values(PUBLISHING),
  is_destructive: true,
  details: DEFINITION_DETAILS,
  input: { definition_id, how: describe(oneOf(["publish", "retire"]), "Which of the two") },
  output: dataOf(ConsentDefinition),
  run: (ctx, { definition_id: id, how }) => data(call(ctx, PUBLISHING[how], { id })),
});

export const consentDefinitionTools = [findDefinitions, createDefinition, publishDefinition];
