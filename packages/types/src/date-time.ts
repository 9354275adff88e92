import { z } from 'zod';

/** A moment in UTC with milliseconds, as every interface prints it: `2026-01-31T09:30:00.000Z`. */
export const dateTime = z.iso.datetime({ precision: 3 });

/** A moment as callers may send it: RFC 3339 with any offset. */
export const dateTimeInput = z.iso.datetime({ offset: true });
