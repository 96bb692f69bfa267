"""Writes houses.csv: 1,500 invented sales of houses, as such tables come: kinds, dates, holes. The same at every call."""

import csv
import datetime
import math
import random
from pathlib import Path

DISTRICTS = {"Altstadt": 1.5, "Hafen": 1.25, "Linden": 1.0, "Nordend": 0.9, "Steinfeld": 0.75}
HEATINGS = {"gas": 0.0, "heat pump": 0.06, "oil": -0.05}

random.seed(20260)
begin = datetime.date(2018, 1, 1)
with open(Path(__file__).with_suffix(".csv"), "w", newline="") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["id", "sold", "district", "heating", "area", "rooms", "built", "garden", "price"])
    for number in range(1, 1501):
        day = random.randrange(2500)
        district = random.choices(list(DISTRICTS), [3, 2, 5, 5, 4])[0]
        heating = random.choices([*HEATINGS, ""], [6, 2, 4, 1])[0]
        area = round(random.lognormvariate(4.75, 0.35), 1)
        rooms = max(1, round(area / 27 + random.gauss(0, 0.8)))
        built = int(random.triangular(1890, 2024, 1975))
        garden = max(0, round(random.gauss(260, 220)))
        value = math.log(2900 * area * DISTRICTS[district]) + HEATINGS.get(heating, 0.0)
        # Newest and oldest houses cost most; gardens only up to a size; prices rose, then fell.
        value += 0.22 * ((built - 1960) / 64) ** 2 + 0.12 * min(garden, 400) / 400
        value += 0.25 * math.sin(day / 2500 * 4.2) + random.gauss(0, 0.09)
        row = [number, (begin + datetime.timedelta(day)).strftime("%d.%m.%Y"), district, heating]
        row += [area if random.random() > 0.06 else "", rooms, built, garden if random.random() > 0.15 else ""]
        table.writerow([*row, round(math.exp(value), -2)])
