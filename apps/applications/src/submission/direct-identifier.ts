import type { ErrorDetail } from '@assistance/types';

const SEPARATOR = String.raw`[\s.\-\u2010-\u2015\u2212]`;
// Begins with one character only, so that a long text is searched in linear time.
const EMAIL = /[^\s@<>()]@[^\s@<>()]*[^\s@<>().]\.[^\s@<>().]/u;
/** No number is longer, however it is spaced out. */
const LONGEST_NUMBER = 64;
const TAXPAYER_WITH_SEPARATORS = new RegExp(`^\\d{3}${SEPARATOR}+\\d{2}${SEPARATOR}+\\d{4}$`, 'u');
const NINE_DIGITS = /^(\d{3})(\d{2})(\d{4})$/;
const EXTENSION = String.raw`(?:\s*(?:x|ext\.?)\s*\d{1,6})?`;
const NORTH_AMERICAN_PHONE = new RegExp(
  `^(?:1${SEPARATOR}*)?(?:\\(\\d{3}\\)${SEPARATOR}*|\\d{3}${SEPARATOR}+)\\d{3}${SEPARATOR}*\\d{4}${EXTENSION}$`,
  'iu',
);
const INTERNATIONAL_PHONE = new RegExp(
  `^\\+(?:[()]|${SEPARATOR}|/)*\\d(?:\\d|[()]|${SEPARATOR}|/)*${EXTENSION}$`,
  'iu',
);

/**
 * True for what names a person directly (interface-details 2): an e-mail address anywhere; or the whole value being a US
 * social security or individual taxpayer number, or a phone number.
 */
export function isDirectIdentifier(value: string): boolean {
  const text = value.normalize('NFKC').trim();
  if (EMAIL.test(text)) return true;
  return text.length <= LONGEST_NUMBER && (isTaxpayerNumber(text) || isPhoneNumber(text));
}

/** With separators its grouping says what it is; nine bare digits must be a number that could have been given out. */
function isTaxpayerNumber(text: string): boolean {
  if (TAXPAYER_WITH_SEPARATORS.test(text)) return true;
  const [, area, group, serial] = (NINE_DIGITS.exec(text) ?? []).map(Number);
  if (area === undefined || group === undefined || serial === undefined) return false;
  const isSocialSecurity = area !== 0 && area !== 666 && area < 900 && group !== 0 && serial !== 0;
  const isIndividualTaxpayer =
    area >= 900 &&
    ((group >= 50 && group <= 65) || (group >= 70 && group <= 88) || (group >= 90 && group !== 93));
  return isSocialSecurity || isIndividualTaxpayer;
}

function isPhoneNumber(text: string): boolean {
  if (NORTH_AMERICAN_PHONE.test(text)) return true;
  const digits = text.replace(/(?:x|ext).*$/iu, '').replaceAll(/\D/g, '').length;
  return INTERNATIONAL_PHONE.test(text) && digits >= 7 && digits <= 15;
}

/** The faults of a submission's references. An agency's own pattern for `applicantRef` rules in place of the rest. */
export function referenceFaults(body: unknown, applicantRefPattern: RegExp | undefined): ErrorDetail[] {
  const { applicantRef, declarationId } = (body ?? {}) as Record<string, unknown>;
  const faults: ErrorDetail[] = [];
  if (typeof applicantRef === 'string') {
    if (applicantRefPattern === undefined) faults.push(...identifierFaults('/applicantRef', applicantRef));
    else if (isOfUsualLength(applicantRef) && !applicantRefPattern.test(applicantRef)) {
      const message = 'must be an applicant reference in the form that this agency uses';
      faults.push({ pointer: '/applicantRef', code: 'invalid_format', message });
    }
  }
  if (typeof declarationId === 'string') faults.push(...identifierFaults('/declarationId', declarationId));
  return faults;
}

/** The shape refuses the others already; a pattern is not let loose on them. */
const isOfUsualLength = (text: string): boolean => text !== '' && text.length <= 256;

const identifierFaults = (pointer: string, value: string): ErrorDetail[] =>
  isDirectIdentifier(value)
    ? [
        {
          pointer,
          code: 'direct_identifier',
          message: 'must be an opaque reference, not an e-mail address, a taxpayer number or a phone number',
        },
      ]
    : [];
