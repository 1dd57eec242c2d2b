import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, listed } from "../../core/schema.ts";
import { decode } from "../../core/validate.ts";
import { Bank, ListEmandateBanks, MerchantConfig } from "../../features/emandate_config/model.ts";
import { getEmandateConfig, listEmandateBanks } from "../../features/emandate_config/service.ts";
import { EmandateCustomer } from "../../features/emandate_customers/model.ts";
import { getEmandateCustomer, listEmandateCustomers } from "../../features/emandate_customers/service.ts";
import {
  CreateEmandateProduct,
  EmandateProduct,
  EmandateProductChange,
  ListEmandateProducts,
} from "../../features/emandate_products/model.ts";
import {
  createEmandateProduct,
  getEmandateProduct,
  listEmandateProducts,
  updateEmandateProduct,
} from "../../features/emandate_products/service.ts";
import { data, dataOf } from "../../http/answers.ts";
import { customer_id, emandate_page, emandate_product_id, search } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";

const getSetup = tool({
  name: "emandate_get_setup",
  title: "Tell how direct debits are set up",
  description:
    "Tells whether the company works with the sandbox or with the banks' scheme itself (connector), how failed debits are retried, and which banks are online. Look here before anything that moves money: in the sandbox none does.",
  level: "company",
  operations: [getEmandateConfig, listEmandateBanks],
  details: [
    "display_name",
    "checked_at",
    "seller_bank_code",
    "version",
    "callback_url",
    "return_url",
    "certificate_fingerprint",
    "holidays",
  ],
  input: {
    bank_type: said(
      ListEmandateBanks.properties.type,
      "Only banks for accounts of persons, or of businesses",
    ),
  },
  output: dataOf(Type.Object({ config: MerchantConfig, banks: Type.Array(Bank) })),
  async run(ctx, { bank_type: type }) {
    const config = await call(ctx, getEmandateConfig, {});
    const banks = await call(ctx, listEmandateBanks, type === undefined ? {} : { type });
    return { data: { config, banks: banks.data } };
  },
});

const findProducts = tool({
  name: "emandate_find_products",
  title: "Find e-mandate products",
  description:
    "Finds e-mandate products by text in code or name, or one by its id: what direct debit mandates are made after. Amounts are MYR.",
  level: "company",
  operations: [listEmandateProducts, getEmandateProduct],
  details: [],
  input: {
    emandate_product_id: Type.Optional(emandate_product_id),
    search: said(search, "Text in the code or name"),
    is_active: said(ListEmandateProducts.properties.is_active, "Only active, or only inactive ones"),
    ...emandate_page,
  },
  output: listed(EmandateProduct),
  run: async (ctx, { emandate_product_id: id, page: at = 1, ...filter }) =>
    id === undefined
      ? call(ctx, listEmandateProducts, { ...filter, page: at })
      : { data: [await call(ctx, getEmandateProduct, { id })] },
});

const fields = EmandateProductChange.properties;

const saveProduct = tool({
  name: "emandate_save_product",
  title: "Create or replace an e-mandate product",
  description:
    "Creates an e-mandate product, or replaces the one that emandate_product_id names: send every field then. Mandates that exist keep what they were made with. To put one out of use replace it with is_active false.",
  level: "company",
  operations: [createEmandateProduct, updateEmandateProduct],
  is_outlined_elsewhere: true,
  takes_request_id: true,
  input: {
    emandate_product_id: Type.Optional(said(Id, "The product to replace; left out, a new one is created")),
    product_code: said(fields.product_code, "Unique in the company for ever"),
    product_name: said(fields.product_name, "What people call it"),
    max_amount: said(fields.max_amount, "The most that one debit may take"),
    max_no_debit: said(fields.max_no_debit, 'Debits in a period of the frequency, "1" unless told'),
    frequency: said(fields.frequency, "How often mandates are debited"),
    is_active: said(fields.is_active, "Of a replacement only: whether new mandates may be made after it"),
  },
  output: dataOf(EmandateProduct),
  run: (ctx, { emandate_product_id: id, ...input }) =>
    data(
      id === undefined
        ? call(ctx, createEmandateProduct, decode(CreateEmandateProduct, input))
        : call(ctx, updateEmandateProduct, { id, ...decode(EmandateProductChange, input) }),
    ),
});

const findCustomers = tool({
  name: "emandate_find_customers",
  title: "Find customers with mandates",
  description:
    "Finds the people who are debited, by text in name or email, or one by its id. Start here when a person is named; then emandate_find_mandates with the customer_id.",
  level: "company",
  operations: [listEmandateCustomers, getEmandateCustomer],
  // Whoever needs it asks for it.
  details: ["ic_number"],
  input: {
    customer_id: Type.Optional(customer_id),
    search: said(search, "Text in the name or email"),
    ...emandate_page,
  },
  output: listed(EmandateCustomer),
  run: async (ctx, { customer_id: id, ...query }) =>
    id === undefined
      ? call(ctx, listEmandateCustomers, query)
      : { data: [await call(ctx, getEmandateCustomer, { id })] },
});

export const emandateCatalogTools = [getSetup, findProducts, saveProduct, findCustomers];
