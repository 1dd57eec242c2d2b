/**
 * How an account answers: it pays; it is short now and then; it is mostly empty; its owner has debits reversed; it fails
 * after all; it was closed; its bank says nothing.
 */
export type Habit = "pays" | "short" | "poor" | "returns" | "late" | "closed" | "silent";

/** What becomes of a mandate that is not simply debited. */
export type Fate =
  | "rejected"
  | "not_authorized"
  | "cancelled"
  | "terminated"
  | "ended_by_bank"
  | "expired"
  | "suspended"
  | "new"
  | "waiting"
  | "approving";

/** Somebody whose account is debited. */
export interface Payer {
  name: string;
  email: string;
  bank: string;
  product: "MEMBER" | "WEEKLY" | "YEARLY" | null;
  /** MYR of each debit. */
  amount: string | null;
  /** The month of the past in which the mandate was given, from 0; the last ones count back from today. */
  month: number;
  habit: Habit;
  fate?: Fate;
}

type Row = readonly [string, string, Payer["product"], string | null, number, Habit, Fate?];

const ROWS: readonly Row[] = [
  ["Nurul Ain binti Osman", "MB2U0227", "MEMBER", "149.00", 0, "pays"],
  ["Lim Boon Keat", "PBB0233", "MEMBER", "149.00", 0, "pays"],
  ["Siti Khadijah Ismail", "BIMB0340", "MEMBER", "89.00", 0, "short"],
  ["Ganesan Pillai", "BCBB0235", "MEMBER", "249.00", 0, "pays"],
  ["Tan Ah Moi", "HLB0224", "MEMBER", "89.00", 1, "poor"],
  ["Mohd Faizal Yusoff", "MB2U0227", "MEMBER", "149.00", 1, "returns"],
  ["Chua Li Ting", "RHB0218", "WEEKLY", "35.00", 1, "pays"],
  ["Kavitha Subramaniam", "AMBB0209", "MEMBER", "149.00", 1, "pays"],
  ["Awang bin Drahman", "BKRM0602", "MEMBER", "89.00", 2, "short"],
  ["Ng Kok Wai", "OCBC0229", "MEMBER", "249.00", 2, "pays"],
  ["Rosli bin Ahmad", "BSN0601", "MEMBER", "89.00", 2, "closed"],
  ["Jessica Anak Ujang", "BCBB0235", "WEEKLY", "45.00", 2, "short"],
  ["Yap Siew Ling", "UOB0226", "MEMBER", "149.00", 3, "pays"],
  ["Zainal Abidin", "MB2U0227", "MEMBER", "89.00", 3, "late"],
  ["Deborah Joseph", "HSBC0223", "YEARLY", "1490.00", 3, "pays"],
  ["Harith Iskandar", "BIMB0340", "MEMBER", "149.00", 4, "pays"],
  ["Wong Chee Seng", "PBB0233", "MEMBER", "249.00", 4, "returns"],
  ["Norazlina Kamal", "MB2U0227", "MEMBER", "89.00", 5, "poor"],
  ["Arjun Krishnan", "SCB0216", "MEMBER", "149.00", 5, "pays"],
  ["Lau Pei Shan", "HLB0224", "MEMBER", "149.00", 6, "pays"],
  ["Mazlan bin Said", "BMMB0341", "MEMBER", "89.00", 6, "short"],
  ["Grace Tiong", "RHB0218", null, null, 7, "silent"],
  ["Shamsul Bahri", "BCBB0235", "MEMBER", "149.00", 8, "pays"],
  ["Irene Fong", "MB2U0227", "MEMBER", "149.00", 9, "pays"],
  ["Rafidah Aziz Ali", "ABB0233", "MEMBER", "89.00", 2, "pays", "terminated"],
  ["Teoh Beng Huat", "PBB0233", "MEMBER", "149.00", 3, "pays", "ended_by_bank"],
  ["Suresh Kumar", "AMBB0209", "MEMBER", "89.00", 4, "pays", "expired"],
  ["Foo Mei Yee", "MB2U0227", "MEMBER", "249.00", 6, "pays", "suspended"],
  ["Azman bin Jaafar", "BIMB0340", "MEMBER", "149.00", 7, "pays", "rejected"],
  ["Cindy Gomez", "HLB0224", "MEMBER", "89.00", 8, "pays", "not_authorized"],
  ["Hafiz bin Omar", "BCBB0235", "MEMBER", "149.00", 10, "pays", "cancelled"],
  ["Balqis Rashid", "MB2U0227", "MEMBER", "149.00", 12, "pays", "new"],
  ["Vincent Chin", "PBB0233", "MEMBER", "149.00", 12, "pays", "waiting"],
  ["Saraswathy Devi", "RHB0218", "MEMBER", "89.00", 12, "pays", "approving"],
];

export const PAYERS: readonly Payer[] = ROWS.map(([name, bank, product, amount, month, habit, fate]) => ({
  name,
  email: `${name.toLowerCase().replaceAll(/[^a-z]+/g, ".")}@mail.example`,
  bank,
  product,
  amount,
  month,
  habit,
  ...(fate === undefined ? {} : { fate }),
}));
