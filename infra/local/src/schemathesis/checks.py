"""What the order of checks promises beyond the descriptions, and how often each status was answered."""

import atexit
import json
import os
from collections import Counter

import schemathesis

# Absent for a token that may do everything.
REFUSED_WITH = os.environ.get("REFUSED_WITH")
STATUSES_FILE = os.environ["STATUSES_FILE"]

# Path, method and what HTTP itself refuses come before the token, floods of refused tokens beside it.
BEFORE_THE_TOKEN = {404, 405, 408, 413, 414, 417, 429, 431}


@schemathesis.check
def token_decides(ctx, response, case):
    """Whoever may not do a thing learns nothing else, whatever is sent."""
    if REFUSED_WITH is None or not needs(case, int(REFUSED_WITH)):
        return
    status = response.status_code
    if status == int(REFUSED_WITH) or status in BEFORE_THE_TOKEN and not is_thing_missing(response):
        return
    if status == 400 and code_of(response) == "bad_request":
        return
    raise AssertionError(f"Answered {status} where the token is to be refused with {REFUSED_WITH}")


def needs(case, status):
    security = case.operation.definition.raw.get("security", [])
    scopes = [scope for each in security for scope in each.get("token", [])]
    return bool(scopes) if status == 403 else bool(security)


def is_thing_missing(response):
    """404 for a thing, not for an address at which there is nothing."""
    return response.status_code == 404 and "at this address" not in response.text


def code_of(response):
    try:
        return response.json().get("code")
    except ValueError:
        return None


statuses = Counter()


@schemathesis.hook
def after_call(context, case, response):
    statuses[response.status_code] += 1


@atexit.register
def write_statuses():
    with open(STATUSES_FILE, "w", encoding="utf-8") as file:
        json.dump(statuses, file)
