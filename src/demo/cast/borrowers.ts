import type { Static } from "@sinclair/typebox";
import type { Rejection } from "../../loans/applications/model.ts";
import type { CreateDefinition } from "../../loans/consent_definitions/model.ts";
import type { CreateLoanProgram } from "../../loans/programs/model.ts";

/** The programs of the company's lending, and whether they take applications. */
export const PROGRAMS: readonly { terms: CreateLoanProgram; fate: "active" | "paused" | "draft" }[] = [
  {
    fate: "active",
    terms: {
      code: "WORKING",
      name: "Working capital for shops",
      description: "For clients who pay their suppliers before they are paid",
      borrower_type: "business",
      currency: "MYR",
      min_amount: "10000",
      max_amount: "250000",
      min_tenor_months: 6,
      max_tenor_months: 36,
      annual_rate_min: "7.5",
      annual_rate_max: "14",
      rate_type: "reducing",
      required_documents: ["ssm_registration", "bank_statement"],
      required_consents: ["pdpa", "credit_check"],
    },
  },
  {
    fate: "active",
    terms: {
      code: "DEVICE",
      name: "Devices by instalments",
      borrower_type: "individual",
      currency: "MYR",
      min_amount: "1000",
      max_amount: "15000",
      min_tenor_months: 6,
      max_tenor_months: 24,
      annual_rate_min: "5",
      annual_rate_max: "10",
      rate_type: "flat",
      eligibility: { min_age: 21, min_monthly_income: "2000", max_dsr_percent: "40" },
      required_documents: ["ic_front", "payslip"],
      required_consents: ["pdpa"],
    },
  },
  {
    fate: "paused",
    terms: {
      code: "BRIDGE",
      name: "Bridge for exporters",
      borrower_type: "business",
      currency: "USD",
      min_amount: "20000",
      max_amount: "100000",
      min_tenor_months: 3,
      max_tenor_months: 12,
      annual_rate_min: "9",
      annual_rate_max: "15",
      rate_type: "reducing",
    },
  },
  {
    fate: "draft",
    terms: {
      code: "SOLAR",
      name: "Solar roofs",
      borrower_type: "individual",
      currency: "MYR",
      min_amount: "8000",
      max_amount: "60000",
      min_tenor_months: 24,
      max_tenor_months: 84,
      annual_rate_min: "4",
      annual_rate_max: "7",
      rate_type: "reducing",
    },
  },
];

export const CONSENTS: readonly Static<typeof CreateDefinition>[] = [
  {
    code: "pdpa",
    title: "Your personal data",
    purpose_text: "We use your data to decide on your application and to keep in touch with you about it.",
    data_text: "Your identity, your income and the documents that you hand in.",
    data_categories: ["identity", "income", "documents"],
    audience: "Kenyalang AI and its lending partners",
    validity_days: 365,
  },
  {
    code: "credit_check",
    title: "A look at your credit history",
    purpose_text: "We ask a credit bureau how you have repaid what you borrowed.",
    data_text: "Your name, your number and your answers.",
    data_categories: ["identity", "credit history"],
    audience: "Kenyalang AI and the credit bureau",
    validity_days: 180,
  },
];

/** Where an application is by now. */
export type ApplicationFate =
  | "draft"
  | "idle_draft"
  | "submitted"
  | "under_review"
  | "action_required"
  | "approved"
  | "offer_expired"
  | "accepted"
  | "disbursed"
  | "rejected"
  | "declined"
  | "withdrawn";

export interface Borrower {
  name: string;
  program: "WORKING" | "DEVICE";
  amount: string;
  tenor_months: number;
  agent: "partner" | "broker";
  /** When the application was made. */
  days_ago: number;
  fate: ApplicationFate;
  reason_code?: Static<typeof Rejection>["reason_code"];
}

type Row = readonly [
  string,
  Borrower["program"],
  string,
  number,
  Borrower["agent"],
  number,
  ApplicationFate,
  Borrower["reason_code"]?,
];

const ROWS: readonly Row[] = [
  ["Kedai Runcit Seri Murni", "WORKING", "45000", 24, "partner", 242, "disbursed"],
  ["Bengkel Motor Jaya", "WORKING", "30000", 18, "partner", 220, "disbursed"],
  ["Aminah binti Ali", "DEVICE", "4200", 12, "partner", 214, "disbursed"],
  ["Restoran Nasi Kandar Bestari", "WORKING", "80000", 36, "broker", 190, "disbursed"],
  ["Rajesh Kumar", "DEVICE", "2600", 12, "partner", 183, "rejected", "income"],
  ["Pasar Mini Damansara", "WORKING", "120000", 36, "partner", 171, "rejected", "credit"],
  ["Lee Mei Fong", "DEVICE", "6800", 24, "broker", 166, "disbursed"],
  ["Butik Anggun", "WORKING", "25000", 12, "partner", 158, "declined"],
  ["Syarikat Percetakan Cekap", "WORKING", "60000", 24, "broker", 141, "withdrawn"],
  ["Fatimah Zahra", "DEVICE", "3100", 12, "partner", 133, "disbursed"],
  ["Dobi Ekspres Klang", "WORKING", "38000", 24, "partner", 127, "disbursed"],
  ["Kumar Subramaniam", "DEVICE", "5400", 18, "partner", 118, "idle_draft"],
  ["Klinik Pergigian Senyum", "WORKING", "150000", 36, "broker", 109, "disbursed"],
  ["Tan Wei Jie", "DEVICE", "2200", 6, "partner", 96, "rejected", "documents"],
  ["Perabot Kayu Warisan", "WORKING", "70000", 24, "partner", 83, "disbursed"],
  ["Nur Izzati", "DEVICE", "4900", 18, "broker", 71, "offer_expired"],
  ["Ladang Cendawan Hijau", "WORKING", "55000", 24, "partner", 66, "disbursed"],
  ["Muthu Raman", "DEVICE", "3700", 12, "partner", 58, "declined"],
  ["Kafe Senja", "WORKING", "42000", 18, "broker", 44, "disbursed"],
  ["Wong Kah Mun", "DEVICE", "7800", 24, "partner", 37, "rejected", "policy"],
  ["Servis Aircond Sejuk", "WORKING", "28000", 12, "partner", 29, "accepted"],
  ["Siti Aisyah Rahim", "DEVICE", "3300", 12, "broker", 24, "accepted"],
  ["Studio Yoga Tenang", "WORKING", "35000", 24, "partner", 19, "approved"],
  ["Cheong Kit Yee", "DEVICE", "5900", 24, "partner", 15, "approved"],
  ["Gerai Laksa Mak Cik", "WORKING", "18000", 12, "broker", 13, "action_required"],
  ["Devi Letchumi", "DEVICE", "4400", 12, "partner", 11, "action_required"],
  ["Kilang Batik Nilam", "WORKING", "95000", 36, "partner", 9, "under_review"],
  ["Ismail Hashim", "DEVICE", "2900", 12, "partner", 7, "under_review"],
  ["Homestay Bukit Tinggi", "WORKING", "66000", 30, "broker", 5, "under_review"],
  ["Low Jia Hui", "DEVICE", "6100", 24, "broker", 3, "submitted"],
  ["Tadika Pelangi", "WORKING", "48000", 24, "partner", 2, "submitted"],
  ["Hidayah Zulkifli", "DEVICE", "3800", 12, "partner", 2, "submitted"],
  ["Roti Canai Ali", "WORKING", "22000", 12, "partner", 1, "draft"],
];

export const BORROWERS: readonly Borrower[] = ROWS.map(
  ([name, program, amount, tenor_months, agent, days_ago, fate, reason_code]) => ({
    name,
    program,
    amount,
    tenor_months,
    agent,
    days_ago,
    fate,
    ...(reason_code === undefined ? {} : { reason_code }),
  }),
);
