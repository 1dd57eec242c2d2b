import { describe, test } from "bun:test";
import { type Company, CREDIT, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";
import { APRIL, type Bill, type Example, march, month, type Step, workOut } from "./worked_examples.ts";

// When a period begins and ends, and how many of its days are charged. FLAT is 31.00 a month.

const companies = new Map<string, Company>();

const billing = useBilling();

const METERED = { ...PER_UNIT, price: 1 };

/** Billed at `at`, all that is due. */
function anchored(anchor: number, started_at: string, at: string, bills: readonly Bill[]): Example {
  const name = `day ${anchor}, started ${started_at.slice(0, 10)}`;
  return { name, models: [FLAT], anchor, started_at, steps: [{ at, bill: [] }], bills };
}

const whole = (from: string, to: string, days: number): Bill => [
  `period ${from}T00:00..${to}T00:00 31.00`,
  `fee 31.00 ${days}/${days}`,
];

const anchors: Example[] = [
  anchored(31, "2024-01-31T00:00:00Z", "2024-05-01T00:00:00Z", [
    whole("2024-01-31", "2024-02-29", 29),
    whole("2024-02-29", "2024-03-31", 31),
    whole("2024-03-31", "2024-04-30", 30),
  ]),
  anchored(31, "2023-01-31T00:00:00Z", "2023-05-01T00:00:00Z", [
    whole("2023-01-31", "2023-02-28", 28),
    whole("2023-02-28", "2023-03-31", 31),
    whole("2023-03-31", "2023-04-30", 30),
  ]),
  anchored(30, "2024-01-30T00:00:00Z", "2024-03-31T00:00:00Z", [
    whole("2024-01-30", "2024-02-29", 30),
    whole("2024-02-29", "2024-03-30", 30),
  ]),
  anchored(30, "2023-01-30T00:00:00Z", "2023-03-31T00:00:00Z", [
    whole("2023-01-30", "2023-02-28", 29),
    whole("2023-02-28", "2023-03-30", 30),
  ]),
  anchored(29, "2024-01-29T00:00:00Z", "2024-03-30T00:00:00Z", [
    whole("2024-01-29", "2024-02-29", 31),
    whole("2024-02-29", "2024-03-29", 29),
  ]),
  anchored(29, "2023-01-29T00:00:00Z", "2023-03-30T00:00:00Z", [
    whole("2023-01-29", "2023-02-28", 30),
    whole("2023-02-28", "2023-03-29", 29),
  ]),
  // 15 to 30 March are 16 of the 31 days from 28 February on.
  anchored(31, "2023-03-15T12:00:00Z", "2023-04-01T00:00:00Z", [
    ["period 2023-02-28T00:00..2023-03-31T00:00 16.00", "fee 16.00 16/31"],
  ]),
  // Anchor 15: the period that starts in February 2024 has 29 days, 5 March to 14 March are 10 of them.
  anchored(15, "2024-03-05T00:00:00Z", "2024-03-16T00:00:00Z", [
    ["period 2024-02-15T00:00..2024-03-15T00:00 10.69", "fee 10.69 10/29"],
  ]),
];

interface Zoned {
  readonly started_at?: string;
  readonly anchor?: number;
  readonly use?: readonly (readonly [string, number])[];
  readonly model?: object;
}

/** Billed a while after the period has ended. */
function zoned(name: string, timezone: string, year_month: string, given: Zoned, bill: Bill): Example {
  const { use = [], model = FLAT, ...life } = given;
  const at = `${Temporal.PlainYearMonth.from(year_month).add({ months: 2 }).toString()}-03T00:00:00Z`;
  const steps: Step[] = [
    { at, use },
    { at, bill: [year_month] },
  ];
  return {
    name,
    timezone,
    models: [model],
    started_at: `${Temporal.PlainYearMonth.from(year_month).year - 1}-01-01T00:00:00Z`,
    ...life,
    steps,
    bills: [bill],
  };
}

const zones: Example[] = [
  zoned(
    "Berlin, March: summer time makes its last day short, and its end early",
    "Europe/Berlin",
    "2024-03",
    {
      model: METERED,
      use: [
        ["2024-02-29T22:59:59.999Z", 1000],
        ["2024-02-29T23:00:00Z", 100],
        ["2024-03-31T21:59:59.999Z", 10],
        ["2024-03-31T22:00:00Z", 1],
      ],
    },
    ["period 2024-02-29T23:00..2024-03-31T22:00 110.00", "usage 110.00 (110 in 2)"],
  ),
  zoned(
    "Berlin, started on the short day: one day like any other",
    "Europe/Berlin",
    "2024-03",
    { started_at: "2024-03-31T01:30:00Z" },
    ["period 2024-02-29T23:00..2024-03-31T22:00 1.00", "fee 1.00 1/31"],
  ),
  zoned(
    "Berlin, October: winter time makes its end late",
    "Europe/Berlin",
    "2024-10",
    {
      model: METERED,
      use: [
        ["2024-10-31T22:30:00Z", 10],
        ["2024-10-31T23:00:00Z", 1],
      ],
    },
    ["period 2024-09-30T22:00..2024-10-31T23:00 10.00", "usage 10.00 (10 in 1)"],
  ),
  zoned(
    "Berlin, started in the hour that came twice: 27 to 31 October",
    "Europe/Berlin",
    "2024-10",
    { started_at: "2024-10-27T00:30:00Z" },
    ["period 2024-09-30T22:00..2024-10-31T23:00 5.00", "fee 5.00 5/31"],
  ),
  zoned(
    "New York, November",
    "America/New_York",
    "2024-11",
    { model: { ...FLAT, price: 30 }, started_at: "2024-11-03T04:00:00Z" },
    ["period 2024-11-01T04:00..2024-12-01T05:00 28.00", "fee 28.00 28/30"],
  ),
  zoned(
    "São Paulo, a period whose first day has no midnight",
    "America/Sao_Paulo",
    "2017-10",
    { anchor: 15 },
    ["period 2017-10-15T03:00..2017-11-15T02:00 31.00", "fee 31.00 31/31"],
  ),
  zoned(
    "Kathmandu, started at local midnight of the 15th",
    "Asia/Kathmandu",
    "2024-03",
    { started_at: "2024-03-14T18:15:00Z" },
    ["period 2024-02-29T18:15..2024-03-31T18:15 17.00", "fee 17.00 17/31"],
  ),
  zoned(
    "Kathmandu, started a millisecond earlier: on the 14th",
    "Asia/Kathmandu",
    "2024-03",
    { started_at: "2024-03-14T18:14:59.999Z" },
    ["period 2024-02-29T18:15..2024-03-31T18:15 18.00", "fee 18.00 18/31"],
  ),
  zoned("Apia, December 2011: the day that was skipped counts in the whole", "Pacific/Apia", "2011-12", {}, [
    "period 2011-12-01T10:00..2011-12-31T10:00 31.00",
    "fee 31.00 31/31",
  ]),
  zoned(
    "Apia, started on 29 December 2011: the 29th, 30th and 31st",
    "Pacific/Apia",
    "2011-12",
    { started_at: "2011-12-29T10:00:00Z" },
    ["period 2011-12-01T10:00..2011-12-31T10:00 3.00", "fee 3.00 3/31"],
  ),
  zoned(
    "Apia, started at the first instant after the skipped day",
    "Pacific/Apia",
    "2011-12",
    { started_at: "2011-12-30T10:00:00Z" },
    ["period 2011-12-01T10:00..2011-12-31T10:00 1.00", "fee 1.00 1/31"],
  ),
  zoned("Apia, day 30: the period whose first day was skipped", "Pacific/Apia", "2011-12", { anchor: 30 }, [
    "period 2011-12-30T10:00..2012-01-29T10:00 31.00",
    "fee 31.00 31/31",
  ]),
  {
    name: "Apia, cancelled just before the skipped day: 29 days",
    timezone: "Pacific/Apia",
    models: [FLAT],
    started_at: "2011-01-01T10:00:00Z",
    steps: [
      { at: "2011-12-30T09:59:59.999Z", cancel: "now" },
      { at: "2012-01-02T00:00:00Z", bill: ["2011-12"] },
    ],
    bills: [["period 2011-12-01T10:00..2011-12-31T10:00 29.00", "fee 29.00 29/31"]],
  },
];

/** A subscription since 1 March that is cancelled; billed in May, all that is due. */
function cancelled(
  name: string,
  at: string,
  how: "now" | "period_end",
  bills: readonly Bill[],
  { model = FLAT, use = [] }: Pick<Zoned, "model" | "use"> = {},
): Example {
  const steps: Step[] = [
    { at, use },
    { at, cancel: how },
    { at: "2024-05-01T01:00:00Z", bill: [] },
  ];
  return { name, models: [model], started_at: "2024-03-01T00:00:00Z", steps, bills };
}

const MIDDAY = "2024-03-15T12:00:00Z";
const lives: Example[] = [
  march(
    "started in the month's last millisecond",
    FLAT,
    [],
    ["1.00", "fee 1.00 1/31"],
    "2024-03-31T23:59:59.999Z",
  ),
  march(
    "started at 18:00: the day is charged whole",
    FLAT,
    [],
    ["17.00", "fee 17.00 17/31"],
    "2024-03-15T18:00:00Z",
  ),
  cancelled("cancelled now: that day is charged, nothing after", MIDDAY, "now", [
    month("2024-03", "15.00", "fee 15.00 15/31"),
  ]),
  cancelled("cancelled at midnight: that day is charged too", "2024-03-15T00:00:00Z", "now", [
    month("2024-03", "15.00", "fee 15.00 15/31"),
  ]),
  cancelled("cancelled on its first day", "2024-03-01T00:00:01Z", "now", [
    month("2024-03", "1.00", "fee 1.00 1/31"),
  ]),
  cancelled("cancelled at the period's end: whole, and no April", MIDDAY, "period_end", [
    month("2024-03", "31.00", "fee 31.00 31/31"),
  ]),
  cancelled("cancelled at the very start of April: no day of April", "2024-04-01T00:00:00Z", "now", [
    month("2024-03", "31.00", "fee 31.00 31/31"),
  ]),
  cancelled("cancelled before it started: never billed", "2024-02-20T00:00:00Z", "now", []),
  cancelled(
    "cancelled now: its usage is billed whole, the minimum by days",
    "2024-03-10T12:00:00Z",
    "now",
    [month("2024-03", "10.00", "usage 4.00 (4 in 1)", "minimum_true_up 6.00 10/31")],
    { model: { ...METERED, minimum_charge: "31" }, use: [["2024-03-10T11:59:59.999Z", 4]] },
  ),
  cancelled(
    "a credit plan cancelled now: 49 of its 100 credits, by the days of its fee",
    MIDDAY,
    "now",
    [month("2024-03", "16.42", "fee 15.00 15/31", "usage 0.00 (120 in 1)", "overage 1.42 (71)")],
    { model: { ...CREDIT, price: 31 }, use: [["2024-03-10T00:00:00Z", 120]] },
  ),
  {
    name: "months that were missed are billed, oldest first; the running one is not",
    models: [FLAT],
    started_at: "2024-01-17T09:00:00Z",
    steps: [{ at: APRIL, bill: [] }],
    bills: [
      month("2024-01", "15.00", "fee 15.00 15/31"),
      month("2024-02", "31.00", "fee 31.00 29/29"),
      month("2024-03", "31.00", "fee 31.00 31/31"),
    ],
  },
];

describe.each([
  ["anchor days over February", anchors],
  ["time zones", zones],
  ["begin and end", lives],
])("worked examples: %s", (_, examples) => {
  test.each(examples.map((example) => [example.name, example] as const))("%s", async (_name, example) => {
    await workOut(billing, companies, example);
  });
});
